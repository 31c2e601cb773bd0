package directory

import "time"

// Rank is the rank of a person in the team.
type Rank string

// The ranks.
const (
	RankMember  Rank = "member"
	RankManager Rank = "manager"
)

// Person is one entry of the directory.
type Person struct {
	// ID is the number of the entry.
	ID int64 `json:"id"`
	// Name is the full name.
	Name string `json:"name"`
	// Email is the address.
	Email string `json:"email" jsonschema:"format=email"`
	// Rank is the rank in the team.
	Rank Rank `json:"rank"`
	// Joined is the moment of entry.
	Joined time.Time `json:"joined"`
	// Salary is the yearly pay, in euros.
	//
	//mcp:field minrole=Manager
	Salary *int64 `json:"salary,omitempty"`
}

// NewPerson is a person to add.
type NewPerson struct {
	// Name is the full name.
	Name string `json:"name" jsonschema:"minLength=1,maxLength=100"`
	// Email is the address.
	Email string `json:"email" jsonschema:"format=email,maxLength=254"`
	// Salary is the yearly pay, in euros.
	//
	//mcp:field minrole=Manager
	Salary *int64 `json:"salary,omitempty" jsonschema:"minimum=0"`
}

// Change changes an entry. A field that is left out stays as it is.
type Change struct {
	// ID is the number of the entry.
	ID int64 `json:"id" jsonschema:"minimum=1"`
	// Name is the new full name.
	Name *string `json:"name,omitempty" jsonschema:"minLength=1,maxLength=100"`
	// Email is the new address.
	Email *string `json:"email,omitempty" jsonschema:"format=email,maxLength=254"`
	// Salary is the new yearly pay, in euros.
	//
	//mcp:field minrole=Manager
	Salary *int64 `json:"salary,omitempty" jsonschema:"minimum=0"`
}

// PublicInfo has public facts.
type PublicInfo struct {
	// Team is the name of the team.
	Team string `json:"team"`
	// People is the number of entries.
	People int `json:"people"`
}
