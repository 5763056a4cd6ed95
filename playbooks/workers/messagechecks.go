package workers

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
)

// A message goes between a coordinator and a worker. Check returns an error for contents that no program of the same
// build sends, in any run; [inbox] and [playbooks.TurnHandler] check what the run allows.
type message = keyring.Message

const (
	maxName     = 1024     // bytes of a name, a nonce or a stamp
	maxSentText = 64 << 10 // bytes of a text for people
	maxKeyText  = 16 << 10 // bytes of a key or certificate
	maxWarnings = 1000     // warnings of one message
)

// short returns an error for texts that are not names.
func short(texts ...string) error {
	for _, text := range texts {
		if len(text) > maxName || strings.ContainsRune(text, 0) {
			return fmt.Errorf("a name of %d bytes, or with a NUL byte", len(text))
		}
	}
	return nil
}

// small reports keys, stamps and the like that are too long.
func small(all ...[]byte) error {
	for _, one := range all {
		if len(one) > maxName {
			return fmt.Errorf("a key or a stamp of %d bytes", len(one))
		}
	}
	return nil
}

func (t *ticket) Check() error {
	return cmp.Or(short(t.Run, t.Shard), small(t.Stamp))
}

func (q *question) Check() error {
	if err := q.Ticket.Check(); err != nil {
		return err
	}
	if err := cmp.Or(short(q.Nonce, q.Recipient, q.Build, q.Version), small(q.SSHKey, q.Stamp)); err != nil {
		return err
	}
	// A key that the authority cannot certify, or that nothing can be sealed to, would fail the run in place of this
	// worker.
	if key, err := ssh.ParsePublicKey(q.SSHKey); err != nil || key.Type() != ssh.KeyAlgoED25519 {
		return errors.New("its key for hosts is not a public key of the type ssh-ed25519")
	}
	if _, err := age.ParseX25519Recipient(q.Recipient); err != nil {
		return errors.New("its key for files is not a public key of age")
	}
	return nil
}

func (o *object) Check() error {
	if o == nil {
		return nil
	}
	if len(o.SHA256) != 32 {
		return fmt.Errorf("a checksum of %d bytes", len(o.SHA256))
	}
	return short(o.Name)
}

func (a *answer) Check() error {
	if len(a.Refused) > maxSentText {
		return fmt.Errorf("a reason of %d bytes", len(a.Refused))
	}
	for _, o := range []*object{a.Run, a.Shard} {
		if err := o.Check(); err != nil {
			return err
		}
	}
	return cmp.Or(short(a.Nonce), small(a.Stamp))
}

func (o *order) Check() error { return short(o.Run) }

func (p *presence) Check() error {
	if p.PID < 0 || p.Hosts < 0 || p.Busy < 0 || p.Capacity < 0 {
		return fmt.Errorf("a worker that is at %d hosts", p.Hosts)
	}
	return short(p.User, p.Site, p.Version, p.Host)
}

func (l *lease) Check() error {
	if len(l.Key) != chacha20poly1305.KeySize {
		return fmt.Errorf("a key of %d bytes", len(l.Key))
	}
	if len(l.What) > maxSentText {
		return fmt.Errorf("a description of %d bytes", len(l.What))
	}
	return short(l.Run, l.Holder, l.Queue, l.Resumes)
}

func (r *runContent) Check() error {
	if f := r.Recipe.Folder; f != filepath.Clean(f) || !filepath.IsAbs(f) {
		return fmt.Errorf("the folder of the run, %.200q, is not an absolute path", f)
	}
	return cmp.Or(short(r.User, r.LocalUser, r.Become.User, r.Become.Method), small(r.Become.Password))
}

func (s *shardContent) Check() error {
	if len(s.Key) != chacha20poly1305.KeySize {
		return fmt.Errorf("a key of %d bytes", len(s.Key))
	}
	if len(s.Certificate) > maxKeyText {
		return fmt.Errorf("a certificate of %d bytes", len(s.Certificate))
	}
	for _, t := range s.Turns {
		if gate, _ := t.Request.(playbooks.GateRequest); t.Host == "" || t.Play < 0 || gate.Gate < 0 {
			return fmt.Errorf("gate %d of play %d of %.100q", gate.Gate, t.Play, t.Host)
		}
		for _, l := range t.Left {
			if l.Play < 0 || l.Type == "" || l.Run == "" {
				return fmt.Errorf("a resource of play %d of %.100q that an earlier run has left", l.Play, t.Host)
			}
		}
	}
	return nil
}

func (q *asked) Check() error {
	if q.Number < 0 || q.Offset < 0 || q.Answered < 0 || q.Errands != nil && *q.Errands < 0 {
		return fmt.Errorf("question %d, from byte %d", q.Number, q.Offset)
	}
	return short(q.Host, q.Lent)
}

func (a *answered) Check() error {
	if err := a.Object.Check(); err != nil {
		return err
	}
	if len(a.Certificate) > maxKeyText {
		return fmt.Errorf("a certificate of %d bytes", len(a.Certificate))
	}
	for _, e := range a.Errands {
		if e.Number < 1 || e.Host == "" {
			return fmt.Errorf("errand %d of %.100q", e.Number, e.Host)
		}
	}
	return nil
}

// checkErrands checks errands that follow number got: they are in order, and for hosts of the shift.
func checkErrands(list []errand, got int, hosts map[string]bool) error {
	for _, e := range list {
		switch {
		case e.Number <= got:
			return fmt.Errorf("errand %d after errand %d", e.Number, got)
		case !hosts[e.Host]:
			return fmt.Errorf("an errand for %.100q, which this worker does not have", e.Host)
		}
		got = e.Number
		for _, r := range e.Order.Plays {
			if r.Play < 1 {
				return fmt.Errorf("an errand for play %d", r.Play)
			}
		}
	}
	return nil
}

func (s *said) Check() error {
	if len(s.Warnings) > maxWarnings {
		return fmt.Errorf("%d warnings at once", len(s.Warnings))
	}
	for _, text := range append([]string{s.Failed}, s.Warnings...) {
		if len(text) > maxSentText {
			return fmt.Errorf("a warning of %d bytes", len(text))
		}
	}
	return nil
}
