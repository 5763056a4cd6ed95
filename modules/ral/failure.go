package ral

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// failure is an error of a provider, or about one.
type failure struct {
	text string // may hold what the provider has said
	safe string // does not
	kind modules.ErrorKind
	err  error // may be nil
}

func (f *failure) Error() string { return f.text }

// Redacted implements [modules.Redactor].
func (f *failure) Redacted() string { return f.safe }

// Kind implements [modules.Kinded].
func (f *failure) Kind() modules.ErrorKind { return f.kind }

func (f *failure) Unwrap() error { return f.err }

// told is an error that the provider itself has told: of an action, or of a resource
// in it.
func (p *provider) told(kind modules.ErrorKind, message string) *failure {
	f := &failure{kind: kind}
	f.safe = fmt.Sprintf("provider %s: %s", p.full(), kind)
	f.text = fmt.Sprintf("provider %s: %s", p.full(), message)
	if strings.TrimSpace(message) == "" {
		f.text = f.safe
	}
	if kind == modules.ErrorForbidden {
		f.text += "; use become"
		f.safe += "; use become"
	}
	return f
}

// broken is an error of a provider that does not do what the convention asks for.
func (p *provider) broken(action, format string, args ...any) *failure {
	return &failure{
		text: fmt.Sprintf("provider %s: %s %s", p.full(), action, fmt.Sprintf(format, args...)),
		safe: fmt.Sprintf("provider %s: %s failed", p.full(), action),
		kind: modules.ErrorFailed,
	}
}

// notRun is about a provider that could not be started, or did not end by itself.
func (p *provider) notRun(action string, err error) *failure {
	f := p.broken(action, "could not be run: %v", err)
	if errors.Is(err, modules.ErrTimeout) {
		f.safe = fmt.Sprintf("provider %s: %s %v", p.full(), action, modules.ErrTimeout)
	}
	f.err = err
	return f
}

// ended is about a provider that ended with another exit code than 0. It quotes the
// last line of standard error; rest are those before it.
func (p *provider) ended(action string, exit modules.Exit) (f *failure, rest string) {
	code := fmt.Sprintf("ended with exit code %d", exit.Code)
	if signal := exit.Code - 128; signal > 0 && signal < 65 {
		code += fmt.Sprintf(" (signal %d)", signal)
	}
	f = p.broken(action, "%s", code)
	f.safe = f.text
	said := strings.TrimSpace(exit.Stderr.Text)
	last := strings.LastIndexByte(said, '\n') + 1
	if said != "" {
		f.text += ": " + strings.TrimSpace(said[last:])
	}
	return f, said[:last]
}

// refused is about properties that a provider would not take. They may be secret.
func (p *provider) refused(err error) *failure {
	var texts []string
	for _, e := range modules.PropertyErrors(err) {
		texts = append(texts, e.Error())
	}
	return &failure{
		text: strings.Join(texts, "; "),
		safe: fmt.Sprintf("the properties are not what provider %s takes", p.full()),
		kind: modules.ErrorFailed,
		err:  err,
	}
}
