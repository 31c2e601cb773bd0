package directory

import (
	"context"
	"fmt"
)

// Tone is how a letter sounds.
type Tone string

// The tones.
const (
	ToneWarm   Tone = "warm"
	ToneFormal Tone = "formal"
)

// Letter says whom to write to, and how.
type Letter struct {
	// Name is who gets the letter.
	Name string `json:"name" jsonschema:"minLength=1,maxLength=100"`
	// Tone is how it sounds; warm where nothing is said.
	Tone Tone `json:"tone,omitempty" jsonschema:"default=warm"`
}

// Welcome asks for a letter that welcomes somebody to the team.
//
//mcp:prompt minrole=Member title="Write a welcome"
func (d *Directory) Welcome(ctx context.Context, in Letter) (string, error) {
	return fmt.Sprintf("Write a %s letter that welcomes %s to team %s.", in.Tone, in.Name, d.team), nil
}

// AnnouncePromotion asks for a note that tells the team of a new manager.
//
//mcp:prompt minrole=Admin title="Announce a promotion"
//mcp:param name description="Who is a manager now." minLength=1 maxLength=100
func (d *Directory) AnnouncePromotion(ctx context.Context, name string) (string, error) {
	return fmt.Sprintf("Tell team %s in two sentences that %s is a manager now.", d.team, name), nil
}

// Names completes the name of a letter with people of the directory.
//
//mcp:complete ref=welcome argument=name
func (d *Directory) Names(ctx context.Context, begun string) ([]string, error) {
	return d.column(ctx, "SELECT DISTINCT name FROM people WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name", begun)
}
