package directory

import "time"

// Rank is what somebody is in the team.
type Rank string

// The ranks.
const (
	RankMember  Rank = "member"
	RankManager Rank = "manager"
)

// Person is one entry of the directory.
type Person struct {
	// ID is the number of the entry.
	ID int64 `json:"id"`
	// Name is the full name.
	Name string `json:"name"`
	// Email is where to write to.
	Email string `json:"email" jsonschema:"format=email"`
	// Rank is what the person is in the team.
	Rank Rank `json:"rank"`
	// Joined is the moment of entry.
	Joined time.Time `json:"joined"`
}

// NewPerson is what an entry is made from.
type NewPerson struct {
	// Name is the full name.
	Name string `json:"name" jsonschema:"minLength=1,maxLength=100"`
	// Email is where to write to.
	Email string `json:"email" jsonschema:"format=email,maxLength=254"`
}

// Change names an entry and what to change in it; what is left out stays.
type Change struct {
	// ID is the number of the entry.
	ID int64 `json:"id" jsonschema:"minimum=1"`
	// Name is the new full name.
	Name *string `json:"name,omitempty" jsonschema:"minLength=1,maxLength=100"`
	// Email is the new address.
	Email *string `json:"email,omitempty" jsonschema:"format=email,maxLength=254"`
}

// PublicInfo is what anybody may know.
type PublicInfo struct {
	// Team is the name of the team.
	Team string `json:"team"`
	// People is how many entries there are.
	People int `json:"people"`
}
