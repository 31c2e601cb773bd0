package principal

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const startTimeouts = 4 // how many times HostConfig.Timeout the checks at start may take

// unreachableError reports that the checks at start could not be made.
type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

// Unreachable reports whether an error of [Host.Start] is a host that could not be queried.
func Unreachable(err error) bool { return errors.As(err, new(unreachableError)) }

// Start runs the checks at start that query the host. Until they pass, no permission counts.
func (h *Host) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeouts*h.Timeout)
	defer cancel()
	err := h.start(ctx)
	if err == nil {
		h.pending.Store(nil)
	} else {
		h.pending.Store(&err)
	}
	return err
}

// Pending returns why the checks at start have not passed, or nil.
func (h *Host) Pending() error {
	if h == nil {
		return nil
	} else if err := h.pending.Load(); err != nil {
		return *err
	}
	return nil
}

// Ready returns an error while the host cannot be read. If the settings of the adapter do not fit
// the host any more, such as after an upgrade of the host, no permission counts until they fit.
func (h *Host) Ready(ctx context.Context) error {
	if err := h.Pending(); err != nil {
		return err
	}
	return h.checkFit(ctx)
}

// checkFit is check, and sets misfit by its result. An unreachable host leaves misfit as it is.
func (h *Host) checkFit(ctx context.Context) error {
	err := h.check(ctx)
	if err == nil {
		h.misfit.Store(false)
		return nil
	}
	err = masked(h.Masker, err)
	if mustChange(err) && !h.misfit.Swap(true) {
		h.Invalidate(nil)
	}
	return err
}

func (h *Host) start(ctx context.Context) error {
	if h.running.Load() > 0 { // an earlier query has not returned, and holds its goroutine
		return unreachable(worker.ErrNoResponse)
	}
	checking, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	_, err := callHost(checking, h, func() (struct{}, error) { return struct{}{}, h.check(checking) })
	if err != nil {
		return unreadable(err)
	}
	var wrong []error
	var failed error // the first one: each further query could hang too, and hold a goroutine
	add := func(err error) {
		if Unreachable(err) {
			failed = err
		} else if err != nil {
			wrong = append(wrong, err)
		}
	}
	add(h.checkNames(ctx))
	if known, ok := h.Identity.(identity.PrincipalLister); ok {
		for _, p := range known.Principals() {
			if failed == nil {
				add(h.checkUser(ctx, p, "Options.Identity: principal %q: %w"))
			}
		}
	}
	for _, u := range h.ServiceUsers {
		if failed == nil {
			p := access.Principal{Issuer: u.Issuer, Subject: u.Client, Client: u.Client, User: u.User}
			add(h.checkUser(ctx, p, "Options.Host.ServiceUsers: client %q: %w"))
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	return failed
}

// check returns an error if the adapter cannot read the host.
func (h *Host) check(ctx context.Context) error {
	if c, ok := h.Source.(capability.Checker); ok {
		return c.Check(ctx)
	}
	const user = "mcpgen-start-check" // capability.Checker names it
	_, err := h.Source.Capabilities(ctx, access.Principal{Subject: user, User: user})
	if errors.Is(err, capability.ErrNoUser) {
		return nil
	}
	return err
}

func (h *Host) checkNames(ctx context.Context) error {
	enumerator, ok := h.Source.(capability.Enumerator)
	if !ok {
		return nil
	}
	known, err := callHost(ctx, h, func() ([]string, error) { return enumerator.Actions(ctx) })
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return unreadable(err)
	}
	return h.unknownNames(known)
}

func (h *Host) checkUser(ctx context.Context, p access.Principal, format string) error {
	err := h.Resolve(ctx, p)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, capability.ErrNoUser) || mustChange(err):
		return fmt.Errorf(format, p.Subject, err)
	}
	return unreachable(err)
}

func unreadable(err error) error {
	if mustChange(err) {
		return fmt.Errorf("Options.Host.Source cannot read the host: %w; "+
			"correct the host's database, its grants or the settings of the adapter", err)
	}
	return unreachable(err)
}

func unreachable(err error) error {
	return unreachableError{fmt.Errorf("the host cannot be reached: %w", err)}
}

// mustChange reports whether an error of an adapter lasts until somebody changes something.
func mustChange(err error) bool {
	return errors.Is(err, errCrashed) || errors.As(err, new(*capability.ConfigurationError))
}

// callHost calls the adapter as [Supervise] does, and counts the call until it returns.
func callHost[T any](ctx context.Context, h *Host, call func() (T, error)) (T, error) {
	return Supervise(ctx, h.Pool, h.Masker, func() (T, error) {
		h.running.Add(1)
		defer h.running.Add(-1)
		return call()
	})
}
