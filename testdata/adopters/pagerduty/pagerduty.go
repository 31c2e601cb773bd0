// Package pagerduty serves the API of PagerDuty as tools. API has methods of its Go client, with
// directives, so that 23 of 24 tools need no code. The structs of the client have no jsonschema
// tags: with required=tags, their fields are optional. The generated files have comments of the
// client, which is under the Apache License 2.0.
//
//mcp:server name=pagerduty title="PagerDuty" required=tags
//mcp:default minrole=Viewer output=none
package pagerduty

//go:generate go tool mcpgen

import (
	"context"

	"github.com/PagerDuty/go-pagerduty"
)

// API is the part of [Client] that is served. The client of PagerDuty joins an id to the path of a
// request as it is: each id has a pattern, so that no caller reaches another path.
type API interface {
	// ListIncidentsWithContext lists incidents.
	//
	//mcp:tool name=list_incidents readonly
	ListIncidentsWithContext(
		ctx context.Context, o pagerduty.ListIncidentsOptions,
	) (*pagerduty.ListIncidentsResponse, error)

	// GetIncidentWithContext returns an incident.
	//
	//mcp:tool name=get_incident readonly
	//mcp:param id pattern=^[A-Z0-9]+$
	GetIncidentWithContext(ctx context.Context, id string) (*pagerduty.Incident, error)

	// OpenIncident opens an incident, in the name of the user with the address from.
	//
	//mcp:tool name=create_incident minrole=Member
	//mcp:param incident.type omit
	OpenIncident(
		ctx context.Context, from string, incident pagerduty.CreateIncidentOptions,
	) (*pagerduty.Incident, error)

	// ManageIncidentsWithContext acknowledges, resolves, escalates or reassigns incidents.
	//
	//mcp:tool name=manage_incidents minrole=Member idempotent
	ManageIncidentsWithContext(
		ctx context.Context, from string, incidents []pagerduty.ManageIncidentsOptions,
	) (*pagerduty.ListIncidentsResponse, error)

	// MergeIncidentsWithContext merges incidents into one.
	//
	//mcp:tool name=merge_incidents minrole=Member
	//mcp:param id pattern=^[A-Z0-9]+$
	MergeIncidentsWithContext(
		ctx context.Context, from, id string, sourceIncidents []pagerduty.MergeIncidentsOptions,
	) (*pagerduty.Incident, error)

	// SnoozeIncidentWithContext silences an incident for some seconds.
	//
	//mcp:tool name=snooze_incident minrole=Member
	//mcp:param id pattern=^[A-Z0-9]+$
	//mcp:param duration minimum=1 maximum=604800
	SnoozeIncidentWithContext(
		ctx context.Context, id string, duration uint,
	) (*pagerduty.Incident, error)

	// ListIncidentNotesWithContext lists the notes on an incident.
	//
	//mcp:tool name=list_incident_notes readonly output=structured
	//mcp:param id pattern=^[A-Z0-9]+$
	ListIncidentNotesWithContext(ctx context.Context, id string) ([]pagerduty.IncidentNote, error)

	// CreateIncidentNoteWithContext adds a note to an incident.
	//
	//mcp:tool name=create_incident_note minrole=Member
	//mcp:param id pattern=^[A-Z0-9]+$
	CreateIncidentNoteWithContext(
		ctx context.Context, id string, note pagerduty.IncidentNote,
	) (*pagerduty.IncidentNote, error)

	// ListIncidentAlertsWithContext lists the alerts of an incident.
	//
	//mcp:tool name=list_incident_alerts readonly
	//mcp:param id pattern=^[A-Z0-9]+$
	ListIncidentAlertsWithContext(
		ctx context.Context, id string, o pagerduty.ListIncidentAlertsOptions,
	) (*pagerduty.ListAlertsResponse, error)

	// ListServicesWithContext lists services.
	//
	//mcp:tool name=list_services readonly
	ListServicesWithContext(
		ctx context.Context, o pagerduty.ListServiceOptions,
	) (*pagerduty.ListServiceResponse, error)

	// GetServiceWithContext returns a service.
	//
	//mcp:tool name=get_service readonly
	//mcp:param id pattern=^[A-Z0-9]+$
	GetServiceWithContext(
		ctx context.Context, id string, o *pagerduty.GetServiceOptions,
	) (*pagerduty.Service, error)

	// DeleteServiceWithContext deletes a service.
	//
	//mcp:tool name=delete_service minrole=Admin destructive idempotent
	//mcp:param id pattern=^[A-Z0-9]+$
	DeleteServiceWithContext(ctx context.Context, id string) error

	// ListOnCallsWithContext lists who is on call.
	//
	//mcp:tool name=list_on_calls readonly
	ListOnCallsWithContext(
		ctx context.Context, o pagerduty.ListOnCallOptions,
	) (*pagerduty.ListOnCallsResponse, error)

	// ListSchedulesWithContext lists schedules.
	//
	//mcp:tool name=list_schedules readonly
	ListSchedulesWithContext(
		ctx context.Context, o pagerduty.ListSchedulesOptions,
	) (*pagerduty.ListSchedulesResponse, error)

	// GetScheduleWithContext returns a schedule.
	//
	//mcp:tool name=get_schedule readonly
	//mcp:param id pattern=^[A-Z0-9]+$
	GetScheduleWithContext(
		ctx context.Context, id string, o pagerduty.GetScheduleOptions,
	) (*pagerduty.Schedule, error)

	// ListEscalationPoliciesWithContext lists escalation policies.
	//
	//mcp:tool name=list_escalation_policies readonly
	ListEscalationPoliciesWithContext(
		ctx context.Context, o pagerduty.ListEscalationPoliciesOptions,
	) (*pagerduty.ListEscalationPoliciesResponse, error)

	// ListUsersWithContext lists users.
	//
	//mcp:tool name=list_users readonly
	ListUsersWithContext(
		ctx context.Context, o pagerduty.ListUsersOptions,
	) (*pagerduty.ListUsersResponse, error)

	// GetUserWithContext returns a user.
	//
	//mcp:tool name=get_user readonly
	//mcp:param id pattern=^[A-Z0-9]+$
	GetUserWithContext(
		ctx context.Context, id string, o pagerduty.GetUserOptions,
	) (*pagerduty.User, error)

	// ListTeamsWithContext lists teams.
	//
	//mcp:tool name=list_teams readonly
	ListTeamsWithContext(
		ctx context.Context, o pagerduty.ListTeamOptions,
	) (*pagerduty.ListTeamResponse, error)

	// RemoveUserFromTeamWithContext removes a user from a team.
	//
	//mcp:tool name=remove_user_from_team minrole=Manager destructive idempotent
	//mcp:param teamID pattern=^[A-Z0-9]+$
	//mcp:param userID pattern=^[A-Z0-9]+$
	RemoveUserFromTeamWithContext(ctx context.Context, teamID, userID string) error

	// CreateMaintenanceWindowWithContext plans a maintenance window.
	//
	//mcp:tool name=create_maintenance_window minrole=Manager
	CreateMaintenanceWindowWithContext(
		ctx context.Context, from string, o pagerduty.MaintenanceWindow,
	) (*pagerduty.MaintenanceWindow, error)

	// DeleteMaintenanceWindowWithContext ends or removes a maintenance window.
	//
	//mcp:tool name=delete_maintenance_window minrole=Manager destructive idempotent
	//mcp:param id pattern=^[A-Z0-9]+$
	DeleteMaintenanceWindowWithContext(ctx context.Context, id string) error

	// ListPrioritiesWithContext lists the priorities of incidents.
	//
	//mcp:tool name=list_priorities readonly output=structured
	ListPrioritiesWithContext(
		ctx context.Context, o pagerduty.ListPrioritiesOptions,
	) (*pagerduty.ListPrioritiesResponse, error)

	// ListAbilitiesWithContext lists the abilities of the account.
	//
	//mcp:tool name=list_abilities readonly output=structured
	ListAbilitiesWithContext(ctx context.Context) (*pagerduty.ListAbilityResponse, error)
}

// Client is the client of PagerDuty.
type Client struct{ *pagerduty.Client }

var _ API = Client{}

// OpenIncident creates an incident. An absent pointer is nil, which the client dereferences.
func (c Client) OpenIncident(
	ctx context.Context, from string, incident pagerduty.CreateIncidentOptions,
) (*pagerduty.Incident, error) {
	return c.CreateIncidentWithContext(ctx, from, &incident)
}
