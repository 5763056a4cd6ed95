package reach

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// SecretSources are the sources of a run's secrets.
type SecretSources struct {
	Ask, AskBecome                   bool // on the terminal
	File, BecomeFile, PassphraseFile string

	Home   string    // home directory that ~/ means
	Stderr io.Writer // standard error of programs that print a password
}

// Validate refuses two sources for one secret.
func (s SecretSources) Validate() error {
	switch {
	case s.Ask && s.File != "":
		return errors.New("--ask-pass and --password-file exclude each other: remove one of them")
	case s.AskBecome && s.BecomeFile != "":
		return errors.New("--ask-become-pass and --become-password-file exclude each other: remove one of them")
	}
	return nil
}

// HasPassword reports whether there will be a password to log in with.
func (s SecretSources) HasPassword() bool { return s.Ask || s.File != "" }

// HasBecome reports whether there will be a password to become another user with.
func (s SecretSources) HasBecome() bool { return s.AskBecome || s.BecomeFile != "" }

// Secrets are the secrets of a run, or nil.
type Secrets struct {
	Password *transport.Secret // to log in with
	Become   *transport.Secret // to become another user with

	passphrase *transport.Secret
	given      map[string]*transport.Secret // passphrases of key files; nil if none was given
}

// ErrInterrupted is why there is no answer: Ctrl-C, or the end of the context.
var ErrInterrupted = errors.New("interrupted")

// Read gets the secrets, each from its source.
func (s SecretSources) Read(ctx context.Context) (*Secrets, error) {
	c := &Secrets{}
	var err error
	if c.Password, err = s.password(ctx); err != nil {
		return nil, err
	}
	if c.Become, err = s.become(ctx, c.Password); err != nil {
		return nil, err
	}
	if c.Become != nil {
		if err := start.CheckBecomePassword(c.Become); err != nil {
			return nil, err
		}
	}
	if s.PassphraseFile != "" {
		c.passphrase, err = s.read(ctx, "--key-passphrase-file", s.PassphraseFile)
	}
	return c, err
}

func (s SecretSources) password(ctx context.Context) (*transport.Secret, error) {
	switch {
	case s.File != "":
		return s.read(ctx, "--password-file", s.File)
	case s.Ask:
		return askPassword(ctx, "SSH password: ", "--password-file FILE")
	}
	return nil, nil
}

func (s SecretSources) become(ctx context.Context, password *transport.Secret) (*transport.Secret, error) {
	switch {
	case s.BecomeFile != "":
		return s.read(ctx, "--become-password-file", s.BecomeFile)
	case !s.AskBecome:
		return nil, nil
	case password == nil:
		return askPassword(ctx, "BECOME password: ", becomeFileFlag)
	}
	answer, err := ask(ctx, "BECOME password (empty: the SSH password): ", becomeFileFlag)
	if err == nil && len(answer.Reveal()) == 0 {
		return password, nil
	}
	return answer, err
}

const becomeFileFlag = "--become-password-file FILE"

// askPassword prompts for a password that must not be empty. flag reads it from a file instead.
func askPassword(ctx context.Context, prompt, flag string) (*transport.Secret, error) {
	answer, err := ask(ctx, prompt, flag)
	if err == nil && len(answer.Reveal()) == 0 {
		return nil, fmt.Errorf("%snone was given", prompt)
	}
	return answer, err
}

// Passphrase returns the passphrase of an encrypted key file; again reports that the last one was wrong. A file of
// passphrases is used once, and a person is prompted again only after a wrong answer. Passphrase returns nil without an
// answer or a terminal.
func (c *Secrets) Passphrase(ctx context.Context, path string, again bool) (*transport.Secret, error) {
	switch {
	case c.passphrase != nil && again:
		return nil, fmt.Errorf("--key-passphrase-file: private key %s: %w", path, transport.ErrPassphrase)
	case c.passphrase != nil:
		return c.passphrase, nil
	}
	if answer, told := c.given[path]; told && !again {
		return answer, nil
	}
	prompt := "passphrase of " + path + " (empty: do without): "
	if again {
		prompt = "that was wrong; " + prompt
	}
	answer, err := ask(ctx, prompt, "--key-passphrase-file FILE")
	switch {
	case errors.Is(err, errNoTerminal) || err == nil && len(answer.Reveal()) == 0:
		answer = nil
	case err != nil:
		return nil, err
	}
	if c.given == nil {
		c.given = map[string]*transport.Secret{}
	}
	c.given[path] = answer
	return answer, nil
}
