package service

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// past has the words for verbs, in the order of messages.
var past = []struct {
	verb verb
	text string
}{
	{reread, ""}, // reported only if it is the only verb
	{unmask, "unmasked"},
	{forget, "reset"},
	{start, "started"},
	{stop, "stopped"},
	{restart, "restarted" + bySubscribe},
	{reload, "reloaded" + bySubscribe},
	{enable, "enabled"},
	{disable, "disabled"},
	{mask, "masked"},
}

// words describes the verbs, and their reason if the properties do not show it.
func (s *Service) words(verbs []verb) string {
	text := action(verbs)
	switch {
	case s.RefreshOnly && !strings.HasSuffix(text, bySubscribe):
		return text + bySubscribe
	case s.Action != "" && !s.RefreshOnly:
		return strings.ReplaceAll(text, bySubscribe, "")
	}
	return text
}

// bySubscribe is why a service that runs is restarted.
const bySubscribe = " via subscribe"

// action describes the verbs: "started and enabled".
func action(verbs []verb) string {
	var words []string
	for _, p := range past {
		if p.text != "" && slices.Contains(verbs, p.verb) {
			words = append(words, p.text)
		}
	}
	switch n := len(words); n {
	case 0:
		return "read its unit file again"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// changes are the properties that differ, in the order of messages.
func changes(u unit, verbs []verb) []modules.Change {
	var list []modules.Change
	for _, p := range past {
		if slices.Contains(verbs, p.verb) && !(p.verb == forget && slices.Contains(verbs, start)) {
			list = append(list, p.verb.change(u)...)
		}
	}
	return list
}

// change is the property that a verb changes, if any.
func (v verb) change(u unit) []modules.Change {
	switch v {
	case reread:
		return []modules.Change{{Property: "unit_file", Have: "changed since it was read", Want: "read"}}
	case start:
		return []modules.Change{{Property: "ensure", Have: u.condition(), Want: running}}
	case stop, forget:
		return []modules.Change{{Property: "ensure", Have: u.condition(), Want: stopped}}
	case enable, disable:
		return []modules.Change{{Property: "enable", Have: fmt.Sprint(v == disable), Want: fmt.Sprint(v == enable)}}
	case mask, unmask:
		return []modules.Change{{Property: "masked", Have: fmt.Sprint(v == unmask), Want: fmt.Sprint(v == mask)}}
	}
	return nil
}

// after is the unit when the verbs are done.
func after(u unit, verbs []verb) unit {
	for _, v := range verbs {
		switch v {
		case reread:
			u.stale, u.broken = false, ""
		case start, restart, reload:
			u.state = "active"
		case stop, forget:
			u.state, u.endedRun = "inactive", false
		case enable, disable:
			if u.linked = v == enable; !u.also {
				u.fileState = string(v) + "d"
			}
		case unmask:
			u.fileState = "disabled"
		case mask:
			u.fileState = "masked"
		}
	}
	return u
}
