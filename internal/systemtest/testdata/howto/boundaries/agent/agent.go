// Package agent has a server whose clients have boundaries.
//
//mcp:server name=dns
package agent

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// NewServer returns a server with the boundaries of a file.
func NewServer(source identity.Source, sets ...toolset.Toolset) (*runtime.Server, error) {
	boundaries, err := static.Open("boundaries.yaml") // runtime/boundary/static
	if err != nil {
		return nil, err
	}
	return runtime.New(runtime.Options{
		Identity: source,
		Access:   runtime.AccessOptions{Boundaries: boundaries},
	}, sets...)
}

// Administrators are the clients that may administer the server.
var Administrators = []boundary.Party{{Issuer: "https://id.example", Client: "console"}}

// Device is the name of a device.
type Device string

// The devices.
const (
	Rack Device = "rack"
	Core Device = "core"
)

// SetDeviceInput is the new address of a device.
type SetDeviceInput struct {
	Name    Device `json:"name"`
	Address string `json:"address"`
}

// ListRecords lists the records.
//
//mcp:tool minrole=Viewer
func ListRecords(context.Context) ([]string, error) { return nil, nil }

// ReportUsage reports the usage.
//
//mcp:tool minrole=Viewer catalog=reports
func ReportUsage(context.Context) (int, error) { return 0, nil }

// SetDevice sets the address of a device.
//
//mcp:tool minrole=Member
//mcp:rule name=core minrole=Manager
func SetDevice(context.Context, SetDeviceInput) error { return nil }

// DropZone removes all records.
//
//mcp:tool minrole=Admin
func DropZone(context.Context) error { return nil }
