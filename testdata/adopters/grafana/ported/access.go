package ported

import (
	"context"
	"fmt"

	"github.com/grafana/grafana-openapi-client-go/client/access_control"
	"github.com/grafana/grafana-openapi-client-go/client/org"
	"github.com/grafana/grafana-openapi-client-go/client/teams"
	"github.com/grafana/grafana-openapi-client-go/models"
	"github.com/grafana/mcp-grafana/tools"
)

// ListTeams finds teams by their name.
//
//mcp:tool title="List teams" readonly destructive=false idempotent openworld=false
func (g *Grafana) ListTeams(
	ctx context.Context, in tools.ListTeamsParams,
) (*models.SearchTeamQueryResult, error) {
	ctx, client := g.caller(ctx)
	params := teams.NewSearchTeamsParamsWithContext(ctx)
	if in.Query != "" {
		params.SetQuery(&in.Query)
	}
	done, err := client.Teams.SearchTeams(params)
	if err != nil {
		return nil, fmt.Errorf("search teams: %w", err)
	}
	return done.Payload, nil
}

// ListUsersByOrg lists the users of the organization.
//
//mcp:tool minrole=Admin title="List users by org" readonly destructive=false idempotent openworld=false
func (g *Grafana) ListUsersByOrg(ctx context.Context) ([]*models.OrgUserDTO, error) {
	ctx, client := g.caller(ctx)
	params := org.NewGetOrgUsersForCurrentOrgParamsWithContext(ctx)
	done, err := client.Org.GetOrgUsersForCurrentOrg(params)
	if err != nil {
		return nil, fmt.Errorf("search users: %w", err)
	}
	return done.Payload, nil
}

// ListAllRoles lists roles.
//
//mcp:tool minrole=Admin title="List all roles" readonly destructive=false idempotent openworld=false
func (g *Grafana) ListAllRoles(
	ctx context.Context, in tools.ListAllRolesParams,
) ([]*models.RoleDTO, error) {
	ctx, client := g.caller(ctx)
	params := access_control.NewListRolesParamsWithContext(ctx)
	if in.DelegatableOnly {
		params.SetDelegatable(&in.DelegatableOnly)
	}
	done, err := client.AccessControl.ListRoles(params)
	if err != nil {
		return nil, fmt.Errorf("list all roles: %w", err)
	}
	return done.Payload, nil
}

// GetRoleDetails describes a role.
//
//mcp:tool minrole=Admin title="Get role details" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetRoleDetails(
	ctx context.Context, in tools.GetRoleDetailsParams,
) (*models.RoleDTO, error) {
	ctx, client := g.caller(ctx)
	params := access_control.NewGetRoleParamsWithContext(ctx).WithRoleUID(in.RoleUID)
	done, err := client.AccessControl.GetRoleWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("get role details: %w", err)
	}
	return done.Payload, nil
}

// GetRoleAssignments lists who has a role.
//
//mcp:tool minrole=Admin title="Get role assignments" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetRoleAssignments(
	ctx context.Context, in tools.GetRoleAssignmentsParams,
) (*models.RoleAssignmentsDTO, error) {
	ctx, client := g.caller(ctx)
	params := access_control.NewGetRoleAssignmentsParamsWithContext(ctx).WithRoleUID(in.RoleUID)
	done, err := client.AccessControl.GetRoleAssignmentsWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("get role assignments: %w", err)
	}
	return done.Payload, nil
}

// ListUserRoles lists the roles of users.
//
//mcp:tool minrole=Admin title="List user roles" readonly destructive=false idempotent openworld=false
func (g *Grafana) ListUserRoles(
	ctx context.Context, in tools.ListUserRolesParams,
) (map[string][]models.RoleDTO, error) {
	ctx, client := g.caller(ctx)
	params := access_control.NewListUsersRolesParamsWithContext(ctx).
		WithBody(&models.RolesSearchQuery{UserIds: in.UserIDs})
	done, err := client.AccessControl.ListUsersRolesWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("list user roles: %w", err)
	}
	return done.Payload, nil
}

// ListTeamRoles lists the roles of teams.
//
//mcp:tool minrole=Admin title="List team roles" readonly destructive=false idempotent openworld=false
func (g *Grafana) ListTeamRoles(
	ctx context.Context, in tools.ListTeamRolesParams,
) (map[string][]models.RoleDTO, error) {
	ctx, client := g.caller(ctx)
	params := access_control.NewListTeamsRolesParamsWithContext(ctx).
		WithBody(&models.RolesSearchQuery{TeamIds: in.TeamIDs})
	done, err := client.AccessControl.ListTeamsRolesWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("list team roles: %w", err)
	}
	return done.Payload, nil
}

// GetResourcePermissions lists who may do what with a resource.
//
//mcp:tool minrole=Admin title="Get resource permissions" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetResourcePermissions(
	ctx context.Context, in tools.GetResourcePermissionsParams,
) ([]*models.ResourcePermissionDTO, error) {
	ctx, client := g.caller(ctx)
	params := access_control.NewGetResourcePermissionsParamsWithContext(ctx).
		WithResource(in.Resource).WithResourceID(in.ResourceID)
	done, err := client.AccessControl.GetResourcePermissionsWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("get resource permissions: %w", err)
	}
	return done.Payload, nil
}

// GetResourceDescription lists the permissions of a kind of resource.
//
//mcp:tool minrole=Admin title="Get resource description" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetResourceDescription(
	ctx context.Context, in tools.GetResourceDescriptionParams,
) (*models.Description, error) {
	ctx, client := g.caller(ctx)
	params := access_control.NewGetResourceDescriptionParamsWithContext(ctx).
		WithResource(in.ResourceType)
	done, err := client.AccessControl.GetResourceDescriptionWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("get resource description: %w", err)
	}
	return done.Payload, nil
}
