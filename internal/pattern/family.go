package pattern

import "strings"

// Family is the form of the resources of a type of permission.
type Family string

// The families.
const (
	Paths    Family = "paths"    // file.*
	Commands Family = "commands" // system.command
	Hosts    Family = "hosts"    // net.*
	Customs  Family = "custom"   // all else
)

// FamilyOf returns the family of a type of permission.
func FamilyOf(kind string) Family {
	switch {
	case strings.HasPrefix(kind, "file."):
		return Paths
	case kind == "system.command":
		return Commands
	case strings.HasPrefix(kind, "net."):
		return Hosts
	}
	return Customs
}
