package knownhosts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Accept adds an unknown key to the AddTo file. It locks the file and, if another process has changed it, reads it
// again first: a different key from that process counts. The errors are errors of [View.Check] and of writing.
func (v *View) Accept(ctx context.Context, h Host, key ssh.PublicKey) error {
	own := v.files.AddTo
	if own == "" {
		return fmt.Errorf("%w: %s, and no known_hosts file to add it to", ErrUnknown, Fingerprint(key))
	}
	v.store.adding.Lock()
	defer v.store.adding.Unlock()
	f, err := openLocked(ctx, own, v.files.FileDir)
	if err != nil {
		return fmt.Errorf("adding the host key to %s: %w", own, err)
	}
	defer f.Close() // also unlocks
	if err := v.store.refresh(own, f.File); err != nil {
		return err
	}
	if err := v.Check(h, key); !errors.Is(err, ErrUnknown) {
		return err
	}
	line := h.Line(key) + "\n"
	if err := appendText(f, line); err != nil {
		return fmt.Errorf("adding the host key to %s: %w", own, err)
	}
	return v.store.added(own, f.File, line)
}

// Trusted are keys of a host that the operator vouches for.
type Trusted struct {
	Host  Host
	Files Files
	Keys  []ssh.PublicKey
}

// Trust adds keys to the files of their hosts: to each file at once, with its lock held. It skips hosts that have
// become known in the meantime. It returns an error for each host, in their order; all are nil if everything was added.
// The errors are [ErrNoFile], and errors of [View.Judge] and of writing.
func (s *Store) Trust(ctx context.Context, hosts []Trusted) []error {
	errs := make([]error, len(hosts))
	var files []string
	byFile := map[string][]int{}
	for i, h := range hosts {
		own := h.Files.AddTo
		if own == "" {
			errs[i] = ErrNoFile
			continue
		}
		if byFile[own] == nil {
			files = append(files, own)
		}
		byFile[own] = append(byFile[own], i)
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	for _, own := range files {
		if err := s.trustIn(ctx, own, hosts, byFile[own], errs); err != nil {
			for _, i := range byFile[own] {
				errs[i] = fmt.Errorf("adding to %s: %w", own, err)
			}
		}
	}
	return errs
}

// trustIn adds the keys of the hosts that share the file own.
func (s *Store) trustIn(ctx context.Context, own string, hosts []Trusted, these []int, errs []error) error {
	f, err := openLocked(ctx, own, hosts[these[0]].Files.FileDir)
	if err != nil {
		return err
	}
	defer f.Close() // also unlocks
	if err := s.refresh(own, f.File); err != nil {
		return err
	}
	var lines strings.Builder
	added := map[string]bool{}
	for _, i := range these {
		h := hosts[i]
		view, err := s.Open(h.Files)
		if err != nil {
			return err
		}
		var where string
		where, errs[i] = view.Judge(h.Host, h.Keys)
		if errs[i] != nil || where != "" {
			continue
		}
		for _, key := range h.Keys {
			line := h.Host.Name + " " + string(key.Marshal())
			if !added[line] {
				added[line] = true
				lines.WriteString(h.Host.Line(key) + "\n")
			}
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	if err := appendWhole(f, lines.String()); err != nil {
		return err
	}
	return s.reread(own)
}
