package ported

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/grafana/grafana-openapi-client-go/client/annotations"
	"github.com/grafana/grafana-openapi-client-go/client/folders"
	"github.com/grafana/grafana-openapi-client-go/models"
	"github.com/grafana/mcp-grafana/tools"
)

// CreateFolder adds a folder.
//
//mcp:tool minrole=Member title="Create folder" readonly=false destructive=false idempotent=false openworld=false
func (g *Grafana) CreateFolder(
	ctx context.Context, in tools.CreateFolderParams,
) (*models.Folder, error) {
	if in.Title == "" {
		return nil, errors.New("title is required")
	}
	ctx, client := g.caller(ctx)
	params := folders.NewCreateFolderParamsWithContext(ctx).WithBody(&models.CreateFolderCommand{
		Title: in.Title, UID: in.UID, ParentUID: in.ParentUID,
	})
	done, err := client.Folders.CreateFolderWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("create folder '%s': %w", in.Title, err)
	}
	return done.Payload, nil
}

// GetAnnotations finds annotations.
//
//mcp:tool title="Get Annotations" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetAnnotations(
	ctx context.Context, in tools.GetAnnotationsInput,
) (*annotations.GetAnnotationsOK, error) {
	ctx, client := g.caller(ctx)
	done, err := client.Annotations.GetAnnotations(&annotations.GetAnnotationsParams{
		Context: ctx, From: in.From, To: in.To, Limit: in.Limit, AlertUID: in.AlertUID,
		DashboardUID: in.DashboardUID, PanelID: in.PanelID, UserID: in.UserID, Type: in.Type,
		Tags: in.Tags, MatchAny: in.MatchAny,
	})
	if err != nil {
		return nil, fmt.Errorf("get annotations: %w", err)
	}
	return done, nil
}

// CreateAnnotation adds an annotation, or one in the form of Graphite.
//
//mcp:tool minrole=Member title="Create Annotation" readonly=false destructive=false idempotent=false openworld=false
func (g *Grafana) CreateAnnotation(
	ctx context.Context, in tools.CreateAnnotationInput,
) (any, error) {
	if in.Format == "graphite" {
		return g.graphite(ctx, in)
	}
	if in.Text == "" {
		return nil, errors.New("'text' is required for standard annotations")
	}
	ctx, client := g.caller(ctx)
	params := annotations.NewPostAnnotationParamsWithContext(ctx)
	params.SetBody(&models.PostAnnotationsCmd{
		DashboardUID: in.DashboardUID, PanelID: in.PanelID, Time: in.Time, TimeEnd: in.TimeEnd,
		Tags: in.Tags, Text: &in.Text, Data: in.Data,
	})
	done, err := client.Annotations.PostAnnotationWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("create annotation: %w", err)
	}
	return done, nil
}

func (g *Grafana) graphite(ctx context.Context, in tools.CreateAnnotationInput) (any, error) {
	if in.What == "" {
		return nil, errors.New("'what' is required when format is 'graphite'")
	}
	ctx, client := g.caller(ctx)
	params := annotations.NewPostGraphiteAnnotationParamsWithContext(ctx)
	params.SetBody(&models.PostGraphiteAnnotationsCmd{
		What: in.What, When: in.When, Tags: in.Tags, Data: in.GraphiteData,
	})
	done, err := client.Annotations.PostGraphiteAnnotationWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("create graphite annotation: %w", err)
	}
	return done, nil
}

// UpdateAnnotation changes the given fields of an annotation.
//
//mcp:tool minrole=Member title="Update Annotation" readonly=false destructive idempotent=false openworld=false
func (g *Grafana) UpdateAnnotation(
	ctx context.Context, in tools.UpdateAnnotationInput,
) (*annotations.PatchAnnotationOK, error) {
	body := &models.PatchAnnotationsCmd{Tags: in.Tags}
	if in.Text != nil {
		body.Text = *in.Text
	}
	if in.Time != nil {
		body.Time = *in.Time
	}
	if in.TimeEnd != nil {
		body.TimeEnd = *in.TimeEnd
	}
	if in.Data != nil {
		body.Data = in.Data
	}
	ctx, client := g.caller(ctx)
	params := annotations.NewPatchAnnotationParamsWithContext(ctx).WithBody(body)
	params.SetAnnotationID(strconv.FormatInt(in.ID, 10))
	done, err := client.Annotations.PatchAnnotationWithParams(params)
	if err != nil {
		return nil, fmt.Errorf("update annotation: %w", err)
	}
	return done, nil
}

// GetAnnotationTags lists the tags of annotations.
//
//mcp:tool title="Get Annotation Tags" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetAnnotationTags(
	ctx context.Context, in tools.GetAnnotationTagsInput,
) (*annotations.GetAnnotationTagsOK, error) {
	ctx, client := g.caller(ctx)
	done, err := client.Annotations.GetAnnotationTags(&annotations.GetAnnotationTagsParams{
		Context: ctx, Tag: in.Tag, Limit: in.Limit,
	})
	if err != nil {
		return nil, fmt.Errorf("get annotation tags: %w", err)
	}
	return done, nil
}
