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
	message string // message from the provider
	silent  bool   // the provider has reported an error without a message
}

// told returns an error reported by the provider itself: of an action, or of a resource in it.
func (p *provider) told(kind modules.ErrorKind, message string) *failure {
	become := ""
	if kind == modules.ErrorForbidden {
		become = `; use "become"`
	}
	return &failure{message: message, Failure: process.Failure{
		Text:  fmt.Sprintf("provider %s: %s%s", p.full(), message, become),
		Safe:  fmt.Sprintf("provider %s: %s%s", p.full(), kind, become),
		Class: kind,
	}}
}

// silent returns an error that the provider has reported without a message. It quotes instead, the value in its place.
func (p *provider) silent(kind modules.ErrorKind, instead any) *failure {
	text := "it reports an error without a message"
	if instead != nil {
		text += ": " + written(instead)
	}
	f := p.told(kind, text)
	f.silent, f.message = true, ""
	return f
}

// broken returns an error of a provider that violates the convention.
func (p *provider) broken(action, format string, args ...any) *failure {
	return &failure{Failure: process.Failure{
		Text: fmt.Sprintf("provider %s: %s %s", p.full(), action, fmt.Sprintf(format, args...)),
		Safe: fmt.Sprintf("provider %s: %s failed", p.full(), action),
	}}
}

// notRun returns the error of a provider that could not be started, or did not end by itself.
func (p *provider) notRun(action string, err error) *failure {
	f := p.broken(action, "could not be run: %v", err)
	if errors.Is(err, modules.ErrTimeout) {
		f.Safe = fmt.Sprintf("provider %s: %s %v", p.full(), action, modules.ErrTimeout)
	}
	f.Cause = err
	return f
}

// ended returns the error of a provider that exited with a code other than 0. It quotes the error that the provider has
// reported anyway, or else the last line of standard error, or of standard output; rest is the part of standard error
// that the error does not quote.
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

// complaint returns the message of the error that a provider has reported for the whole action, or "".
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

// evidence adds the last line of standard error to an error of a provider that has exited with code 0, if the error
// itself has no message, and reports the whole output for debugging.
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

// refused returns the error for properties that a provider would not accept. They may be secret.
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
