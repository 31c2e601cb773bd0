package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
)

// Get returns a variable, and whether it exists.
func (s *ClientWorkspace) Get(name string) (value string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found = s.variables[name]
	return value, found
}

// Set sets a variable. If that would exceed the quota, it returns a [*limitError] and keeps the
// old value.
func (s *ClientWorkspace) Set(name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.variables[name]
	number, bytes := len(s.variables), s.bytes+len(value)-len(old)
	if !known {
		number, bytes = number+1, bytes+len(name)
	}
	if err := s.all.options.fit(number, bytes); err != nil {
		return err
	}
	if s.variables == nil {
		s.variables = map[string]string{}
	}
	s.variables[name] = value
	s.bytes = bytes
	return nil
}

// fit returns a [*limitError] if the number of variables or of their bytes exceeds the quota.
func (o WorkspaceOptions) fit(number, bytes int) error {
	switch {
	case number > o.Variables:
		return &limitError{Limit: limitQuota, Bound: fmt.Sprintf("%d variables", o.Variables)}
	case bytes > o.VariableBytes:
		return &limitError{Limit: limitQuota, Bound: size(int64(o.VariableBytes)) + " of variables"}
	}
	return nil
}

// Unset removes a variable.
func (s *ClientWorkspace) Unset(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, known := s.variables[name]; known {
		s.bytes -= len(name) + len(old)
		delete(s.variables, name)
	}
}

// Variables returns a copy of all variables, never nil.
func (s *ClientWorkspace) Variables() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]string, len(s.variables))
	maps.Copy(all, s.variables)
	return all
}

// workspaceCopy is a workspace for a helper: a copy of the variables, and the quota.
type workspaceCopy struct {
	Quota     WorkspaceOptions
	Variables []variable
}

// variable is a variable in a message, as bytes: JSON cannot contain invalid UTF-8.
type variable struct{ Name, Value []byte }

// journal is an isolated handler's changes of the variables. Clearing unsets only the variables of
// the copy: later ones of other calls stay.
type journal struct {
	Set   []variable
	Unset [][]byte
}

// snapshot returns the copy for a helper.
func (s *ClientWorkspace) snapshot() *workspaceCopy {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &workspaceCopy{Quota: s.all.options}
	for name, value := range s.variables {
		b.Variables = append(b.Variables, variable{[]byte(name), []byte(value)})
	}
	return b
}

// workspace returns the workspace of the helper's handler.
func (b *workspaceCopy) workspace(dir *os.Root) *ClientWorkspace {
	s := &ClientWorkspace{all: &workspaces{options: b.Quota}, dir: dir,
		variables: map[string]string{}}
	for _, v := range b.Variables {
		s.variables[string(v.Name)] = string(v.Value)
		s.bytes += len(v.Name) + len(v.Value)
	}
	return s
}

// journal returns the changes since the copy, or nil.
func (s *ClientWorkspace) journal(b *workspaceCopy) *journal {
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

// readJournal parses a helper's journal. It stops at the maximum number of variables: a few bytes
// could need much more memory here.
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

// apply applies all changes of a helper's handler, or returns a [*limitError] and applies none:
// another call may have set some meanwhile.
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
	bytes := 0
	for name, value := range next {
		bytes += len(name) + len(value)
	}
	if err := s.all.options.fit(len(next), bytes); err != nil {
		return err
	}
	s.variables, s.bytes = next, bytes
	return nil
}

// journalBound is the maximum size of a journal: all variables set anew, and all old ones unset, in
// base64.
func (s *ClientWorkspace) journalBound() int64 {
	o := s.all.options
	return 1024 + 2*(int64(o.VariableBytes)*4/3+64*int64(o.Variables))
}
