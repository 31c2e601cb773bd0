package gitea

import (
	"context"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// NewIssue is the text of an issue, and who works on it until when.
type NewIssue struct {
	Repo
	Title     string     `json:"title" jsonschema:"minLength=1"`
	Body      string     `json:"body,omitempty"`
	Assignees []string   `json:"assignees,omitempty"`
	Labels    []int64    `json:"labels,omitempty"` // the ids of labels
	Deadline  *time.Time `json:"due_date,omitempty"`
}

// CreateIssue opens an issue.
//
//mcp:tool minrole=Member destructive=false
func (f *Forge) CreateIssue(ctx context.Context, in NewIssue) (*gitea.Issue, error) {
	return get(ctx, f, func(c *gitea.Client) (*gitea.Issue, *gitea.Response, error) {
		return c.CreateIssue(in.Owner, in.Name, gitea.CreateIssueOption{Title: in.Title,
			Body: in.Body, Assignees: in.Assignees, Labels: in.Labels, Deadline: in.Deadline})
	})
}

// IssueEdit is what changes about an issue.
type IssueEdit struct {
	Repo
	Index    int64                       `json:"index" jsonschema:"minimum=1"`
	Title    string                      `json:"title,omitempty"`
	Body     *string                     `json:"body,omitempty"`
	State    *gitea.StateType            `json:"state,omitempty" jsonschema:"enum=open,enum=closed"`
	Deadline toolset.Optional[time.Time] `json:"due_date,omitzero"` // null removes it
}

// EditIssue changes an issue, or closes it.
//
//mcp:tool minrole=Member
func (f *Forge) EditIssue(ctx context.Context, in IssueEdit) (*gitea.Issue, error) {
	edit := gitea.EditIssueOption{Title: in.Title, Body: in.Body, State: in.State}
	if in.Deadline.Null {
		edit.RemoveDeadline = &in.Deadline.Null
	} else if due, ok := in.Deadline.Get(); ok {
		edit.Deadline = &due
	}
	return get(ctx, f, func(c *gitea.Client) (*gitea.Issue, *gitea.Response, error) {
		return c.EditIssue(in.Owner, in.Name, in.Index, edit)
	})
}

// AddComment comments on an issue or a pull request.
//
//mcp:tool minrole=Member destructive=false
func (f *Forge) AddComment(ctx context.Context, in struct {
	Repo
	Index int64 `json:"index" jsonschema:"minimum=1"`
	gitea.CreateIssueCommentOption
}) (*gitea.Comment, error) {
	return get(ctx, f, func(c *gitea.Client) (*gitea.Comment, *gitea.Response, error) {
		return c.CreateIssueComment(in.Owner, in.Name, in.Index, in.CreateIssueCommentOption)
	})
}

// AddLabels adds labels to an issue, by their ids.
//
//mcp:tool minrole=Member destructive=false idempotent
//mcp:param index minimum=1
//mcp:param labels minItems=1
func (f *Forge) AddLabels(ctx context.Context, owner, repo string, index int64, labels []int64) (
	[]*gitea.Label, error) {
	return get(ctx, f, func(c *gitea.Client) ([]*gitea.Label, *gitea.Response, error) {
		return c.AddIssueLabels(owner, repo, index, gitea.IssueLabelsOption{Labels: labels})
	})
}

// CreateRelease publishes a release, or a draft of one.
//
//mcp:tool minrole=Manager destructive=false
func (f *Forge) CreateRelease(ctx context.Context, in struct {
	Repo
	gitea.CreateReleaseOption
}) (*gitea.Release, error) {
	return get(ctx, f, func(c *gitea.Client) (*gitea.Release, *gitea.Response, error) {
		return c.CreateRelease(in.Owner, in.Name, in.CreateReleaseOption)
	})
}

// MergePullRequest merges a pull request. The result is whether it is merged.
//
//mcp:tool minrole=Manager
//mcp:rule style=manually-merged minrole=Admin
//mcp:param index minimum=1
//mcp:param style enum=merge,rebase,squash,manually-merged default=merge
func (f *Forge) MergePullRequest(ctx context.Context, owner, repo string, index int64,
	style gitea.MergeStyle) (bool, error) {
	return get(ctx, f, func(c *gitea.Client) (bool, *gitea.Response, error) {
		return c.MergePullRequest(owner, repo, index, gitea.MergePullRequestOption{Style: style})
	})
}

// SetTopics replaces the topics of a repository.
//
//mcp:tool minrole=Manager idempotent
func (f *Forge) SetTopics(ctx context.Context, owner, repo string, topics []string) error {
	return do(ctx, f, func(c *gitea.Client) (*gitea.Response, error) {
		return c.SetRepoTopics(owner, repo, topics)
	})
}

// DeleteRepository deletes a repository for good.
//
//mcp:tool minrole=Admin destructive
func (f *Forge) DeleteRepository(ctx context.Context, owner, repo string) error {
	return do(ctx, f, func(c *gitea.Client) (*gitea.Response, error) {
		return c.DeleteRepo(owner, repo)
	})
}
