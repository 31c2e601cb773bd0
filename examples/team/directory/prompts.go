package directory

import (
	"context"
	"fmt"
)

// Tone is the tone of a letter.
type Tone string

// The tones.
const (
	ToneWarm   Tone = "warm"
	ToneFormal Tone = "formal"
)

// Letter is a letter to write.
type Letter struct {
	// Name is the name of the recipient.
	Name string `json:"name" jsonschema:"minLength=1,maxLength=100"`
	// Tone is its tone.
	Tone Tone `json:"tone,omitempty" jsonschema:"default=warm"`
}

// Welcome writes a letter that welcomes a person to the team.
//
//mcp:prompt minrole=Member title="Write a welcome"
func (d *Directory) Welcome(ctx context.Context, in Letter) (string, error) {
	return fmt.Sprintf("Write a %s letter that welcomes %s to team %s.", in.Tone, in.Name,
		d.team), nil
}

// AnnouncePromotion writes a note to the team about a new manager.
//
//mcp:prompt minrole=Admin title="Announce a promotion"
//mcp:param name description="The name of the new manager." minLength=1 maxLength=100
func (d *Directory) AnnouncePromotion(ctx context.Context, name string) (string, error) {
	return fmt.Sprintf("Tell team %s in two sentences that %s is a manager now.", d.team, name), nil
}

// Names completes the name of a letter with people of the directory.
//
//mcp:complete ref=welcome argument=name
func (d *Directory) Names(ctx context.Context, prefix string) ([]string, error) {
	return d.column(ctx, "SELECT DISTINCT name FROM people "+
		"WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name", prefix)
}
