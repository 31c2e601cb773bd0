// Package teams has the excerpt of the page.
//
//mcp:server name=teams
package teams

import "context"

// Action is a verb.
type Action string

// The verbs.
const (
	List   Action = "list"
	Add    Action = "add"
	Delete Action = "delete"
	Purge  Action = "purge"
)

// ManageTeamInput is what to do.
type ManageTeamInput struct {
	Action Action `json:"action"`
	Name   string `json:"name"`
}

// Team is a team.
type Team struct {
	Name string `json:"name"`
}

// ManageTeam manages a team.
//
//mcp:tool minrole=Viewer
//mcp:rule action=add minrole=Member
//mcp:rule action=delete,purge minrole=Admin
func ManageTeam(ctx context.Context, in ManageTeamInput) (Team, error) {
	return Team{in.Name}, nil
}
