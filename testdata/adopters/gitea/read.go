package gitea

import (
	"context"

	"code.gitea.io/sdk/gitea"
)

// Whoami returns the caller's own account.
//
//mcp:tool minrole=Viewer readonly
func (f *Forge) Whoami(ctx context.Context) (*gitea.User, error) {
	return get(ctx, f, (*gitea.Client).GetMyUserInfo)
}

// Page is one page of a list.
type Page struct {
	Page  int `json:"page,omitempty" jsonschema:"minimum=1,default=1"`
	Limit int `json:"limit,omitempty" jsonschema:"minimum=1,maximum=50,default=20"`
}

func (p Page) options() gitea.ListOptions {
	return gitea.ListOptions{Page: p.Page, PageSize: p.Limit}
}

// Repo names a repository.
type Repo struct {
	Owner string `json:"owner"`
	Name  string `json:"repo"`
}

// Order is what repositories are sorted by.
type Order string

// The orders.
const (
	ByName    Order = "alpha"
	ByCreated Order = "created"
	ByUpdated Order = "updated"
	BySize    Order = "size"
)

// RepoSearch selects repositories.
type RepoSearch struct {
	Page
	Keyword  string `json:"keyword"`
	Topic    bool   `json:"topic,omitempty"` // the keyword is a topic
	Archived *bool  `json:"archived,omitempty"`
	Sort     Order  `json:"sort,omitempty"`
}

// SearchRepositories returns the repositories that match a keyword.
//
//mcp:tool minrole=Viewer readonly
func (f *Forge) SearchRepositories(ctx context.Context, in RepoSearch) (
	[]*gitea.Repository, error) {
	return get(ctx, f, func(c *gitea.Client) ([]*gitea.Repository, *gitea.Response, error) {
		return c.SearchRepos(gitea.SearchRepoOptions{ListOptions: in.options(),
			Keyword: in.Keyword, KeywordIsTopic: in.Topic, IsArchived: in.Archived, Sort: string(in.Sort)})
	})
}

// GetRepository returns a repository.
//
//mcp:tool minrole=Viewer readonly
func (f *Forge) GetRepository(ctx context.Context, owner, repo string) (*gitea.Repository, error) {
	return get(ctx, f, func(c *gitea.Client) (*gitea.Repository, *gitea.Response, error) {
		return c.GetRepo(owner, repo)
	})
}

// GetLanguages returns the bytes of code in each language of a repository.
//
//mcp:tool minrole=Viewer readonly output=structured
func (f *Forge) GetLanguages(ctx context.Context, owner, repo string) (map[string]int64, error) {
	return get(ctx, f, func(c *gitea.Client) (map[string]int64, *gitea.Response, error) {
		return c.GetRepoLanguages(owner, repo)
	})
}

// ReadFile returns the text of a file.
//
//mcp:tool minrole=Viewer readonly output=text
//mcp:param path description="The path of the file, from the root of the repository." minLength=1
//mcp:param ref description="A branch, a tag or a commit." default=""
func (f *Forge) ReadFile(ctx context.Context, owner, repo, path, ref string) (string, error) {
	text, err := get(ctx, f, func(c *gitea.Client) ([]byte, *gitea.Response, error) {
		return c.GetFile(owner, repo, ref, path)
	})
	return string(text), err
}

// ListBranches returns the branches of a repository.
//
//mcp:tool minrole=Viewer readonly
func (f *Forge) ListBranches(ctx context.Context, in struct {
	Repo
	Page
}) ([]*gitea.Branch, error) {
	return get(ctx, f, func(c *gitea.Client) ([]*gitea.Branch, *gitea.Response, error) {
		return c.ListRepoBranches(in.Owner, in.Name,
			gitea.ListRepoBranchesOptions{ListOptions: in.options()})
	})
}

// ListLabels returns the labels of a repository.
//
//mcp:tool minrole=Viewer readonly output=structured
func (f *Forge) ListLabels(ctx context.Context, in struct {
	Repo
	Page
}) ([]*gitea.Label, error) {
	return get(ctx, f, func(c *gitea.Client) ([]*gitea.Label, *gitea.Response, error) {
		return c.ListRepoLabels(in.Owner, in.Name,
			gitea.ListLabelsOptions{ListOptions: in.options()})
	})
}

// ListMilestones returns the milestones of a repository.
//
//mcp:tool minrole=Viewer readonly output=structured
//mcp:param state default=open
func (f *Forge) ListMilestones(ctx context.Context, owner, repo string, state State) (
	[]*gitea.Milestone, error) {
	return get(ctx, f, func(c *gitea.Client) ([]*gitea.Milestone, *gitea.Response, error) {
		return c.ListRepoMilestones(owner, repo, gitea.ListMilestoneOption{
			State: gitea.StateType(state)})
	})
}

// State selects issues and milestones.
type State string

// The states.
const (
	Open   State = "open"
	Closed State = "closed"
	All    State = "all"
)

// IssueSearch selects issues of a repository.
type IssueSearch struct {
	Repo
	Page
	State     State    `json:"state,omitempty" jsonschema:"default=open"`
	Labels    []string `json:"labels,omitempty"`
	Keyword   string   `json:"keyword,omitempty"`
	CreatedBy string   `json:"created_by,omitempty"`
}

// ListIssues returns the issues of a repository, without pull requests.
//
//mcp:tool minrole=Viewer readonly
func (f *Forge) ListIssues(ctx context.Context, in IssueSearch) ([]*gitea.Issue, error) {
	return get(ctx, f, func(c *gitea.Client) ([]*gitea.Issue, *gitea.Response, error) {
		return c.ListRepoIssues(in.Owner, in.Name, gitea.ListIssueOption{
			ListOptions: in.options(), State: gitea.StateType(in.State),
			Type: gitea.IssueTypeIssue, Labels: in.Labels,
			KeyWord: in.Keyword, CreatedBy: in.CreatedBy})
	})
}

// GetIssue returns an issue.
//
//mcp:tool minrole=Viewer readonly
//mcp:param index minimum=1
func (f *Forge) GetIssue(ctx context.Context, owner, repo string, index int64) (
	*gitea.Issue, error) {
	return get(ctx, f, func(c *gitea.Client) (*gitea.Issue, *gitea.Response, error) {
		return c.GetIssue(owner, repo, index)
	})
}

// ListComments returns the comments on an issue or a pull request.
//
//mcp:tool minrole=Viewer readonly
//mcp:param index minimum=1
func (f *Forge) ListComments(ctx context.Context, owner, repo string, index int64) (
	[]*gitea.Comment, error) {
	return get(ctx, f, func(c *gitea.Client) ([]*gitea.Comment, *gitea.Response, error) {
		return c.ListIssueComments(owner, repo, index, gitea.ListIssueCommentOptions{})
	})
}

// GetPullRequest returns a pull request.
//
//mcp:tool minrole=Viewer readonly
//mcp:param index minimum=1
func (f *Forge) GetPullRequest(ctx context.Context, owner, repo string, index int64) (
	*gitea.PullRequest, error) {
	return get(ctx, f, func(c *gitea.Client) (*gitea.PullRequest, *gitea.Response, error) {
		return c.GetPullRequest(owner, repo, index)
	})
}

// GetPullRequestDiff returns the changes of a pull request as a diff.
//
//mcp:tool minrole=Viewer readonly output=text mimetype=text/x-diff
//mcp:param index minimum=1
func (f *Forge) GetPullRequestDiff(ctx context.Context, owner, repo string, index int64) (
	[]byte, error) {
	return get(ctx, f, func(c *gitea.Client) ([]byte, *gitea.Response, error) {
		return c.GetPullRequestDiff(owner, repo, index, gitea.PullRequestDiffOptions{})
	})
}

// GetLatestRelease returns the latest release of a repository.
//
//mcp:tool minrole=Viewer readonly
func (f *Forge) GetLatestRelease(ctx context.Context, owner, repo string) (*gitea.Release, error) {
	return get(ctx, f, func(c *gitea.Client) (*gitea.Release, *gitea.Response, error) {
		return c.GetLatestRelease(owner, repo)
	})
}
