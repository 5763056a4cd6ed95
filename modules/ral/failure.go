package ral

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// failure is an error of a provider, or about one.
type failure struct {
	process.Failure
	message string // that the provider has told
	silent  bool   // the provider has told of an error without a message
}

// told is an error that the provider itself has told: of an action, or of a resource
// in it.
func (p *provider) told(kind modules.ErrorKind, message string) *failure {
	become := ""
	if kind == modules.ErrorForbidden {
		become = "; use become"
	}
	return &failure{message: message, Failure: process.Failure{
		Text:  fmt.Sprintf("provider %s: %s%s", p.full(), message, become),
		Safe:  fmt.Sprintf("provider %s: %s%s", p.full(), kind, become),
		Class: kind,
	}}
}

// silent is an error that the provider has told without a message. What it has instead
// is quoted.
func (p *provider) silent(kind modules.ErrorKind, instead any) *failure {
	text := "it reports an error without a message"
	if instead != nil {
		text += ": " + written(instead)
	}
	f := p.told(kind, text)
	f.silent, f.message = true, ""
	return f
}

// broken is an error of a provider that does not do what the convention asks for.
func (p *provider) broken(action, format string, args ...any) *failure {
	return &failure{Failure: process.Failure{
		Text: fmt.Sprintf("provider %s: %s %s", p.full(), action, fmt.Sprintf(format, args...)),
		Safe: fmt.Sprintf("provider %s: %s failed", p.full(), action),
	}}
}

// notRun is about a provider that could not be started, or did not end by itself.
func (p *provider) notRun(action string, err error) *failure {
	f := p.broken(action, "could not be run: %v", err)
	if errors.Is(err, modules.ErrTimeout) {
		f.Safe = fmt.Sprintf("provider %s: %s %v", p.full(), action, modules.ErrTimeout)
	}
	f.Cause = err
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
	f.Safe = f.Text
	said := strings.TrimSpace(exit.Stderr.Text)
	last := strings.LastIndexByte(said, '\n') + 1
	printed := process.Last(exit.Stdout.Text)
	switch complaint := p.complaint(exit.Stdout.Text); {
	case complaint != "":
		f.Text += ": " + complaint
		return f, said
	case said != "":
		f.Text += ": " + strings.TrimSpace(said[last:])
	case printed != "":
		f.Text += ": it printed " + process.Quote(printed)
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
	if last := process.Last(said.Stderr.Text); f.silent && last != "" {
		f.Text += "; on standard error: " + process.Quote(last)
	}
	process.Show(report, p.calls(action), said.Stdout.Text)
	return f
}

// calls names a call of the provider.
func (p *provider) calls(action string) string { return action + " of " + p.full() }

// refused is about properties that a provider would not take. They may be secret.
func (p *provider) refused(err error) *failure {
	var texts []string
	for _, e := range modules.PropertyErrors(err) {
		texts = append(texts, e.Error())
	}
	return &failure{Failure: process.Failure{
		Text:  strings.Join(texts, "; "),
		Safe:  fmt.Sprintf("the properties are not what provider %s takes", p.full()),
		Cause: err,
	}}
}
