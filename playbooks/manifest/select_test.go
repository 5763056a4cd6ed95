package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

const tagged = `
- name: one
  tags: [base]
  ccm:
    resources:
      - exec: [a: {tags: [web]}, b: {alias: bee}]
- name: two
  ccm:
    resources:
      - exec: [c: {tags: [db, slow]}, d: , e: {tags: [always]}, f: {tags: [never, debug]}]
      - exec: ["g {{ Data.x }}": ]
`

const blocked = `
ccm:
  resources:
    - name: x
      block: [{exec: [a: ]}]
      rescue:
        - exec: [b: ]
        - name: y
          block: [{exec: [c: ]}]
          rescue: [{exec: [d: ]}]
      always: [{exec: [e: ]}]
    - name: z
      block: [{exec: [f: ]}]
      rescue: [{exec: [g: {alias: twice}]}]
      always: [{exec: [h: {alias: twice}]}]
`

// left lists the remaining resources of the plays of a manifest, as play/name.
func left(t *testing.T, text string, s manifest.Selection) (string, error) {
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(text), builtin.Types())
	require.NoError(t, err)
	if plays, err = s.Select(plays); err != nil {
		return "", err
	}
	var names []string
	for _, p := range plays {
		for _, r := range p.Resources {
			if !r.Unselected {
				names = append(names, p.Name+"/"+r.Name.Node.Text[:1])
			}
		}
	}
	return strings.Join(names, " "), nil
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts manifest.Selection
		want  string
	}{
		{"all but never", manifest.Selection{}, "one/a one/b two/c two/d two/e two/g"},
		{"a tag", manifest.Selection{Tags: []string{"web"}}, "one/a two/e"},
		{"the tag of a play", manifest.Selection{Tags: []string{"base"}}, "one/a one/b two/e"},
		{"either", manifest.Selection{Tags: []string{"web", "slow"}}, "one/a two/c two/e"},
		{"what is tagged never", manifest.Selection{Tags: []string{"debug"}}, "two/e two/f"},
		{"never itself", manifest.Selection{Tags: []string{"never"}}, "two/e two/f"},
		{"all", manifest.Selection{Tags: []string{"all"}}, "one/a one/b two/c two/d two/e two/g"},
		{"tagged", manifest.Selection{Tags: []string{"tagged"}}, "one/a one/b two/c two/e"},
		{"untagged", manifest.Selection{Tags: []string{"untagged"}}, "two/d two/e two/g"},
		{"not a tag", manifest.Selection{Skip: []string{"web"}}, "one/b two/c two/d two/e two/g"},
		{"not always", manifest.Selection{Skip: []string{"always"}}, "one/a one/b two/c two/d two/g"},
		{"nothing but always", manifest.Selection{Skip: []string{"all"}}, "two/e"},
		{"not tagged", manifest.Selection{Skip: []string{"tagged"}}, "two/d two/g"},
		{"not untagged", manifest.Selection{Skip: []string{"untagged"}}, "one/a one/b two/c two/e"},
		{"one but not the other", manifest.Selection{Tags: []string{"base"}, Skip: []string{"web"}}, "one/b two/e"},
		{"from a resource on", manifest.Selection{StartAt: "exec#b"}, "one/b two/c two/d two/e two/g"},
		{"from an alias on", manifest.Selection{StartAt: "exec#bee"}, "one/b two/c two/d two/e two/g"},
		{"from a later play on", manifest.Selection{StartAt: "exec#d"}, "two/d two/e two/g"},
		{"from a name as it is written on", manifest.Selection{StartAt: "exec#g {{ Data.x }}"}, "two/g"},
		{"from there, with tags", manifest.Selection{StartAt: "exec#c", Tags: []string{"web", "db"}}, "two/c two/e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := left(t, tagged, c.parts)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// A run starts in the part of a block that always runs, even if a rescued resource has the same name.
func TestSelectInBlocks(t *testing.T) {
	for start, want := range map[string]string{"exec#e": "site/x site/z", "exec#twice": "site/z"} {
		got, err := left(t, blocked, manifest.Selection{StartAt: start})
		require.NoError(t, err)
		require.Equal(t, want, got, start)
	}
}

func TestWrongSelections(t *testing.T) {
	const none = "ccm: {resources: [exec: [x: ]]}"
	for _, c := range []struct {
		text  string
		parts manifest.Selection
		want  string
	}{
		{tagged, manifest.Selection{Tags: []string{"wbe"}}, `--tags "wbe": no play or resource has this tag; did you mean "web"?`},
		{tagged, manifest.Selection{Skip: []string{"monitoring"}}, `--skip-tags "monitoring": no play or resource has this tag; the tags are always, base, db, debug, never, slow, web`},
		{none, manifest.Selection{Tags: []string{"web"}}, `--tags "web": no play or resource has this tag; no tags exist`},
		{none, manifest.Selection{Tags: []string{"tagged"}}, "nothing is selected: --tags and --skip-tags leave no resource"},
		{tagged, manifest.Selection{StartAt: "exec#bea"}, `--start-at "exec#bea": no resource is called that; did you mean exec#bee?`},
		{tagged, manifest.Selection{StartAt: "exec#gggggg"}, `--start-at "exec#gggggg": no resource is called that; --list-resources shows their names`},
		{blocked, manifest.Selection{StartAt: "exec#b"}, onlyRescues("7:18", "exec#b")},
		{blocked, manifest.Selection{StartAt: "block#y"}, onlyRescues("8:17", "block#y")},
		{blocked, manifest.Selection{StartAt: "exec#c"}, onlyRescues("9:27", "exec#c")},
		{blocked, manifest.Selection{StartAt: "exec#d"}, onlyRescues("10:28", "exec#d")},
		{tagged, manifest.Selection{StartAt: "exec"}, `--start-at "exec": write TYPE#NAME, such as file#/etc/motd`},
	} {
		_, err := left(t, c.text, c.parts)
		require.EqualError(t, err, c.want)
	}
}

// onlyRescues is the error for a start in the rescue of block#x.
func onlyRescues(at, ref string) string {
	return fmt.Sprintf("site.yaml:%s: --start-at %q: this resource is in the rescue of block#x, so it runs only if the block fails\n"+
		"  hint: start at the block: --start-at 'block#x'", at, ref)
}
