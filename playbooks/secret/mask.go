package secret

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Searchable is the least length of a text that is searched for, in bytes: shorter ones occur in many unrelated texts.
const Searchable = 6

// A Mask takes secrets out of texts, in the forms in which programs print them: as they are,
// as JSON and URLs escape them, and in base64, also of something that holds them. Of one with
// several lines each line counts by itself. The zero Mask knows none; nil is the same. It may
// be used by many goroutines at once.
type Mask struct {
	mu       sync.Mutex
	known    map[string]bool // the secrets
	forms    map[string]bool
	replacer *strings.Replacer // replacer of forms; nil after new ones
}

// Add adds a secret. A secret that is shorter than [Searchable] is not searched for.
func (m *Mask) Add(text string) {
	if m == nil || len(text) < Searchable || text == Shown {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[text] {
		return
	}
	if m.known == nil {
		m.known, m.forms = map[string]bool{}, map[string]bool{}
	}
	m.known[text] = true
	m.replacer = nil
	for _, part := range append(strings.Split(text, "\n"), text) {
		for _, one := range []string{part, strings.TrimSpace(part)} {
			if len(one) >= Searchable {
				m.add(one)
			}
		}
	}
}

// add adds the forms of a text.
func (m *Mask) add(text string) {
	m.forms[text] = true
	m.forms[url.QueryEscape(text)], m.forms[url.PathEscape(text)] = true, true
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text is always JSON
	escaped, _ := json.Marshal(text)
	for _, quoted := range []string{strings.TrimSpace(plain.String()), string(escaped)} {
		m.forms[quoted[1:len(quoted)-1]] = true
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		m.forms[encoding.EncodeToString([]byte(text))] = true
		for before := range 3 { // bytes in front of it in its group
			all := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + text))
			if (before+len(text))%3 != 0 { // the last character contains bits of the following text
				all = all[:len(all)-1]
			}
			m.forms[all[(before*8+5)/6:]] = true
		}
	}
}

// Text is text with [Shown] in the place of the secrets in it.
func (m *Mask) Text(text string) string {
	if m == nil || len(text) < Searchable {
		return text
	}
	m.mu.Lock()
	if len(m.known) > 0 && m.replacer == nil {
		forms := slices.SortedFunc(maps.Keys(m.forms), func(a, b string) int { return len(b) - len(a) }) // the longest is found first
		pairs := make([]string, 0, 2*len(forms))
		for _, form := range forms {
			pairs = append(pairs, form, Shown)
		}
		m.replacer = strings.NewReplacer(pairs...)
	}
	replacer := m.replacer
	m.mu.Unlock()
	if replacer == nil {
		return text
	}
	return replacer.Replace(text)
}

// None reports whether no text would be changed.
func (m *Mask) None() bool {
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.known) == 0
}
