package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
)

// borrowed is a workspace as a helper gets it: a copy of the variables, and the quota.
type borrowed struct {
	Bytes         int64
	Files         int
	Names         int // how many variables there may be
	VariableBytes int
	Variables     []variable
}

// variable is a variable on its way. Its parts are bytes, since JSON has no text that is no UTF-8.
type variable struct{ Name, Value []byte }

// journal is how an isolated handler left the variables, against how it found them. Clearing is
// unsetting what it found: what another call has set meanwhile came later.
type journal struct {
	Set   []variable
	Unset [][]byte
}

// lend returns what a helper gets of a workspace.
func (s *ClientWorkspace) lend() *borrowed {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.all.options
	b := &borrowed{Bytes: o.Bytes, Files: o.Files, Names: o.Variables, VariableBytes: o.VariableBytes}
	for name, value := range s.variables {
		b.Variables = append(b.Variables, variable{[]byte(name), []byte(value)})
	}
	return b
}

// workspace returns the workspace of the helper's handler.
func (b *borrowed) workspace(dir *os.Root) *ClientWorkspace {
	s := &ClientWorkspace{
		all:       &Workspaces{options: WorkspaceOptions{Bytes: b.Bytes, Files: b.Files, Variables: b.Names, VariableBytes: b.VariableBytes}},
		dir:       dir,
		variables: map[string]string{},
	}
	for _, v := range b.Variables {
		s.variables[string(v.Name)] = string(v.Value)
		s.bytes += len(v.Name) + len(v.Value)
	}
	return s
}

// journal returns what has become of the variables that were borrowed, nil where nothing has.
func (s *ClientWorkspace) journal(b *borrowed) *journal {
	now := s.Variables()
	var j journal
	for _, v := range b.Variables {
		value, found := now[string(v.Name)]
		switch {
		case !found:
			j.Unset = append(j.Unset, v.Name)
		case value == string(v.Value):
			delete(now, string(v.Name))
		}
	}
	for name, value := range now {
		j.Set = append(j.Set, variable{[]byte(name), []byte(value)})
	}
	if j.Set == nil && j.Unset == nil {
		return nil
	}
	return &j
}

// readJournal reads what a helper sent. Nothing is read of more variables than there may be: a few
// bytes would take many times as many here.
func readJournal(payload []byte, most int) (*journal, error) {
	var lists struct{ Set, Unset json.RawMessage }
	if err := json.Unmarshal(payload, &lists); err != nil {
		return nil, err
	}
	set, err := readList[variable](lists.Set, most)
	if err != nil {
		return nil, err
	}
	unset, err := readList[[]byte](lists.Unset, most)
	if err != nil {
		return nil, err
	}
	return &journal{Set: set, Unset: unset}, nil
}

func readList[T any](text json.RawMessage, most int) (all []T, err error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("a list is missing")
	}
	for d.More() {
		if len(all) == most {
			return nil, fmt.Errorf("there are more than %d", most)
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// apply does to the variables what a helper's handler did, all of it, or returns a [*LimitError]
// and does nothing: another call may have set some meanwhile.
func (s *ClientWorkspace) apply(j journal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make(map[string]string, len(s.variables)+len(j.Set))
	maps.Copy(next, s.variables)
	for _, name := range j.Unset {
		delete(next, string(name))
	}
	for _, v := range j.Set {
		next[string(v.Name)] = string(v.Value)
	}
	bytes, o := 0, s.all.options
	for name, value := range next {
		bytes += len(name) + len(value)
	}
	switch {
	case len(next) > o.Variables:
		return &LimitError{Limit: Quota, Bound: fmt.Sprintf("%d variables", o.Variables)}
	case bytes > o.VariableBytes:
		return &LimitError{Limit: Quota, Bound: size(int64(o.VariableBytes)) + " of variables"}
	}
	s.variables, s.bytes = next, bytes
	return nil
}

// journalBound is how many bytes a journal may have: all variables set anew, and all old ones
// unset, in base64.
func (s *ClientWorkspace) journalBound() int64 {
	o := s.all.options
	return 1024 + 2*(int64(o.VariableBytes)*4/3+64*int64(o.Variables))
}
