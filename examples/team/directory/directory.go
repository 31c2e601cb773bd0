// Package directory is a team directory in a SQLite file, served as MCP tools, prompts and
// resources.
//
//mcp:server name=team version=1.0.0 title="Team directory" client=client optional=null
//mcp:roles Viewer < Member < Manager < Admin
//mcp:roles Auditor < Admin
package directory

//go:generate go tool mcpgen

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
)

// Directory runs the calls. Its methods are safe for concurrent use. The zero Directory has no
// database: its toolset can be listed, but no call succeeds.
type Directory struct {
	team string
	db   *sql.DB
}

// ErrUnknownPerson is the error if no entry has the number.
var ErrUnknownPerson = errors.New("no such person")

// GetByID returns one person.
//
//mcp:tool authenticated readonly catalog=onboarding
//mcp:param id description="The number of the entry." minimum=1
func (d *Directory) GetByID(ctx context.Context, id int64) (Person, error) {
	row := d.db.QueryRowContext(ctx, selectPeople+" WHERE id = ?", id)
	return scanPerson(row)
}

// GetAll returns all persons, by name.
//
//mcp:tool authenticated readonly
func (d *Directory) GetAll(ctx context.Context) ([]Person, error) {
	rows, err := d.db.QueryContext(ctx, selectPeople+" ORDER BY name, id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var people []Person
	for rows.Next() {
		p, err := scanPerson(rows)
		if err != nil {
			return nil, err
		}
		people = append(people, p)
	}
	if len(people) == 0 {
		runtime.Advise(ctx, 0.5, "The directory has no persons yet. This is not an error.")
	}
	return people, rows.Err()
}

// Create adds a person.
//
//mcp:tool minrole=Member destructive=false catalog=onboarding
//mcp:limit timeout=5s
func (d *Directory) Create(ctx context.Context, in NewPerson) (Person, error) {
	p := Person{Name: in.Name, Email: in.Email, Rank: RankMember,
		Joined: time.Now().UTC().Truncate(time.Second), Salary: in.Salary}
	res, err := d.db.ExecContext(ctx,
		"INSERT INTO people (name, email, rank, joined, salary) VALUES (?, ?, ?, ?, ?)",
		p.Name, p.Email, p.Rank, p.Joined.Format(time.RFC3339), p.Salary)
	if err != nil {
		return Person{}, err
	}
	p.ID, err = res.LastInsertId()
	return p, err
}

// Update changes the name, the address or the pay of a person. An absent argument stays as it is.
//
//mcp:tool minrole=Member idempotent catalog=onboarding
//mcp:limit timeout=5s
func (d *Directory) Update(ctx context.Context, in Change) (Person, error) {
	row := d.db.QueryRowContext(ctx,
		"UPDATE people SET name = coalesce(?, name), email = coalesce(?, email), "+
			"salary = coalesce(?, salary) WHERE id = ? RETURNING "+columns,
		in.Name, in.Email, in.Salary, in.ID)
	return scanPerson(row)
}

// PromoteToManager makes a member a manager.
//
//mcp:tool minrole=Admin idempotent
//mcp:param id description="The number of the entry." minimum=1
func (d *Directory) PromoteToManager(ctx context.Context, id int64) (Person, error) {
	row := d.db.QueryRowContext(ctx,
		"UPDATE people SET rank = ? WHERE id = ? RETURNING "+columns, RankManager, id)
	p, err := scanPerson(row)
	if err == nil {
		runtime.Logger(ctx).InfoContext(ctx, "a person is a manager now", "id", p.ID)
	}
	return p, err
}

// GetPublicInfo returns public facts about the team.
//
//mcp:tool public readonly
func (d *Directory) GetPublicInfo(ctx context.Context) (PublicInfo, error) {
	info := PublicInfo{Team: d.team}
	err := d.db.QueryRowContext(ctx, "SELECT count(*) FROM people").Scan(&info.People)
	return info, err
}

const (
	columns      = "id, name, email, rank, joined, salary"
	selectPeople = "SELECT " + columns + " FROM people"
)

// scanPerson reads one row of columns.
func scanPerson(row interface{ Scan(...any) error }) (Person, error) {
	var p Person
	var joined string
	if err := row.Scan(&p.ID, &p.Name, &p.Email, &p.Rank, &joined,
		&p.Salary); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrUnknownPerson
		}
		return Person{}, err
	}
	var err error
	if p.Joined, err = time.Parse(time.RFC3339, joined); err != nil {
		return Person{}, fmt.Errorf("person %d: %w", p.ID, err)
	}
	return p, nil
}
