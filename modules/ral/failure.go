package ral

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/printout"
)

// failure is an error of a provider, or about one.
type failure struct {
	text string // may hold what the provider has said
	safe string // does not
	kind modules.ErrorKind
	err  error // may be nil
	mute bool  // it is an error that the provider has told without a message

	message string // that the provider has told
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
	f := &failure{kind: kind, message: message}
	f.safe = fmt.Sprintf("provider %s: %s", p.full(), kind)
	f.text = fmt.Sprintf("provider %s: %s", p.full(), message)
	if kind == modules.ErrorForbidden {
		f.text += "; use become"
		f.safe += "; use become"
	}
	return f
}

// mute is an error that the provider has told without a message. What it has instead
// is quoted.
func (p *provider) mute(kind modules.ErrorKind, instead any) *failure {
	text := "it tells of an error without a message"
	if instead != nil {
		text += ": " + written(instead)
	}
	f := p.told(kind, text)
	f.mute, f.message = true, ""
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
// error that the provider has told nevertheless, or else the last line of standard error,
// or of standard output; rest is what of standard error is not in it.
func (p *provider) ended(action string, exit modules.Exit) (f *failure, rest string) {
	code := fmt.Sprintf("ended with exit code %d", exit.Code)
	if signal := exit.Code - 128; signal > 0 && signal < 65 {
		code += fmt.Sprintf(" (signal %d)", signal)
	}
	f = p.broken(action, "%s", code)
	f.safe = f.text
	said := strings.TrimSpace(exit.Stderr.Text)
	last := strings.LastIndexByte(said, '\n') + 1
	printed := printout.Last(exit.Stdout.Text)
	switch complaint := p.complaint(exit.Stdout.Text); {
	case complaint != "":
		f.text += ": " + complaint
		return f, said
	case said != "":
		f.text += ": " + strings.TrimSpace(said[last:])
	case printed != "":
		f.text += ": it printed " + printout.Quote(printed)
	}
	return f, said[:last]
}

// complaint is the message of the error that a provider has told of the whole action;
// "" if there is none.
func (p *provider) complaint(text string) string {
	var f *failure
	if p.Invoke == invokeSimple {
		_, f = p.parseFields("", text, false)
	} else {
		_, f = p.parseAnswer("", text)
	}
	if f == nil {
		return ""
	}
	return f.message
}

// evidence adds to an error of a provider that has ended with exit code 0 what it said
// besides, if the error itself says nothing, and reports all that it has printed for
// whoever looks for the fault.
func (p *provider) evidence(report modules.Reporter, action string, said modules.Exit, f *failure) *failure {
	if f == nil {
		return nil
	}
	if last := printout.Last(said.Stderr.Text); f.mute && last != "" {
		f.text += "; on standard error: " + printout.Quote(last)
	}
	p.show(report, action, said.Stdout)
	return f
}

// show reports what a call has printed that came to nothing.
func (p *provider) show(report modules.Reporter, action string, printed modules.Output) {
	if text := strings.TrimSpace(printed.Text); text != "" {
		report.Message(modules.LevelDebug, fmt.Sprintf("%s of %s printed:\n%s", action, p.full(), text))
	}
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
