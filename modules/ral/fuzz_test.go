package ral

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzSimple holds that whatever a provider prints is an answer or an error, and that
// an answer printed again is the same.
func FuzzSimple(f *testing.F) {
	for _, seed := range []string{
		"# simple\nname: n\na: x\nl: [p, q]\non: true\n", "# simple\nral_error: x\ny\nral_eom\n", "a: 1\nral_was: 2\n",
		"ral_derive: true\n", "# simple\nname: n\nral_unknown: true\n", "# simple\nname: a\nname: b\n", "", ":", "# simple\n:x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := simple()
		_, _ = p.parseUpdate(text, update{name: "n", is: values{}, should: values{"a": "1"}})
		if e, err := p.parseFind(text, "n"); err == nil && e != nil && e.err == nil {
			printed := "# simple\nname: n\n"
			for key, v := range e.values {
				s, err := simpleText(v)
				if err != nil {
					return // a list with an element that is empty
				}
				printed += key + ": " + s + "\n"
			}
			again, err := p.parseFind(printed, "n")
			require.Nil(t, err)
			require.Equal(t, e.values, again.values)
		}
		if all, err := p.parseList(text); err == nil {
			for name := range all {
				require.NotEmpty(t, name)
				require.False(t, strings.ContainsRune(name, '\n'))
			}
		}
	})
}

// FuzzJSON holds the same of providers that speak JSON.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		there, `{"resources":[{"name":1,"a":1e3,"error":null}]}`, `{"error":{"message":["a",1],"kind":"unknown"}}`, `{"error":"x"}`,
		`{"changes":[{"name":"n","a":{"is":"2","was":"1"}},{"name":"m","error":{}}],"derive":true}`, `{"changes":null}`, `{"resources":[{"name":"n","l":["a",null]}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := simple()
		p.Invoke = invokeJSON
		if all, err := p.parseGet(text); err == nil {
			for name, e := range all {
				require.NotEmpty(t, name)
				if e.err != nil {
					continue
				}
				again, err := p.parseGet(`{"resources":[` + string(e.values.state(name)) + `]}`)
				require.Nil(t, err)
				if len(again) == 1 && again[name] != nil { // a name that is not UTF-8 has changed
					require.Equal(t, e.values.state(name), again[name].values.state(name))
				}
			}
		}
		u := update{name: "n", is: values{}, should: values{"a": "1"}}
		all, err := p.parseSet(text, []update{u})
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, r := range all {
			for key := range r.changes {
				require.Contains(t, p.Attributes, key)
			}
		}
	})
}

// FuzzShould holds the law of the difference: once it is set, nothing differs.
func FuzzShould(f *testing.F) {
	f.Add("present", "absent", "x", "y", true, false, "a,b", "b,a")
	f.Add("absent", "1.2", "", "", false, false, "", "")
	f.Add("purged", "purged", "", "z", false, true, "", "q")
	f.Fuzz(func(t *testing.T, wantEnsure, isEnsure, wantA, isA string, wantOn, isOn bool, wantL, isL string) {
		p := simple()
		p.Attributes["w"] = attribute{Kind: kindWrite}
		want := values{ensure: wantEnsure, "a": wantA, "on": wantOn, "l": splitList(wantL), "w": "x"}
		is := values{ensure: isEnsure, "a": isA, "on": isOn, "l": splitList(isL)}
		should := p.should(want, is)
		for key, v := range should {
			require.Equal(t, want[key], v)
		}
		require.Empty(t, p.should(want, p.predicted(is, should)))
		if len(should) > 0 {
			require.NotEqual(t, []string{"w"}, (&task{provider: p, update: update{should: should}}).differing())
		}
	})
}
