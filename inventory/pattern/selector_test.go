package pattern

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A list is names in their order.
type list []string

func (l list) Len() int        { return len(l) }
func (l list) At(i int) string { return l[i] }

func (l list) Find(name string) (int, bool) {
	i := slices.Index(l, name)
	return i, i >= 0
}

var (
	hosts  = list{"web01", "web02", "web03", "web04", "db-a", "db-b", "db-c", "bastion.example.com", "2001:db8::1"}
	groups = list{"all", "web", "db", "dc1", "canary", "empty"}
	// members are the hosts of each group, some of them twice.
	members = [][]int{{7, 8, 0, 1, 2, 3, 4, 5, 6, 0}, {0, 1, 2, 3}, {4, 5, 6}, {0, 1, 4, 1}, {0, 6}, nil}
)

func selector() Selector {
	return Selector{Hosts: hosts, Groups: groups, Members: func(group int) []int { return members[group] }}
}

func namesOf(selected []int) string {
	var names []string
	for _, h := range selected {
		names = append(names, hosts[h])
	}
	return strings.Join(names, " ")
}

var vectors = []struct{ pattern, want, warning, err string }{
	{pattern: "web", want: "web01 web02 web03 web04"},
	{pattern: "all[2:3]", want: "web01 web02"},
	{pattern: "dc1,canary", want: "web01 web02 db-a db-c"},
	{pattern: "web:!dc1", want: "web03 web04"},
	{pattern: "&dc1 !db-a", want: "web01 web02"},
	{pattern: "web[-1]", want: "web04"},
	{pattern: "web[2:]", want: "web03 web04"},
	{pattern: "web0[1-2,4]", want: "web01 web02 web04"},
	{pattern: "db-[b:c]", want: "db-b db-c"},
	{pattern: "w*3", want: "web03"},
	{pattern: "d?-[!ab]", want: "db-c"},
	{pattern: "~(web|db)$", want: "web01 web02 web03 web04 db-a db-b db-c"},
	{pattern: "2001:db8::1", want: "2001:db8::1"},
	{pattern: "web01,nosuch", want: "web01", warning: `"nosuch" matches no host or group`},
	{pattern: "web03,web05", want: "web03", warning: `"web05" matches no host or group; did you mean "web01"?`},
	{pattern: "web0[3-5]", want: "web03 web04", warning: `"web0[3-5]": 1 of 3 names are not in the inventory, the first is web05`},
	{pattern: "empty", err: `pattern "empty": selects no host`},
	{pattern: "", err: "pattern \"\": the pattern is empty\n  hint: write all for every host"},
	{pattern: "::1", err: "pattern \"::1\": selects no host: \"::1\" matches no host or group\n  hint: this machine is only known if the inventory lists it, or with --allow-implicit-localhost"},
	{pattern: "web[4]", err: "pattern \"web[4]\": the index is past the end\n  hint: the pattern matches 4 hosts: use an index from 0 to 3"},
	{pattern: "web[", err: `pattern "web[": the bracket [ has no closing ]`},
	{pattern: "web01:22", err: "pattern \"web01:22\": selects no host: \"web01:22\" matches no host or group\n  hint: remove the port: it belongs in the inventory"},
	{pattern: "@last:failed", err: "pattern \"@last:failed\": @last:failed: hosts of a recorded run can only limit a pattern\n  hint: write: all --limit @last:failed"},
	{pattern: "web fact:x=1", err: `pattern "web fact:x=1": fact: is not supported yet`},
	{pattern: "~(", err: "pattern \"~(\": not a regex: missing closing ): `(`\n  hint: colons and commas outside brackets end a term; look-around and back-references do not exist"},
}

func TestSelect(t *testing.T) {
	for _, tt := range vectors {
		t.Run(tt.pattern, func(t *testing.T) {
			selected, warnings, err := selector().Select(tt.pattern)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				require.Empty(t, selected)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, namesOf(selected))
			require.Equal(t, tt.warning, strings.Join(warnings, "\n"))
		})
	}
}

func TestLocal(t *testing.T) {
	s := selector()
	s.Local = []int{len(hosts)}
	for _, name := range LocalNames {
		selected, _, err := s.Select(name)
		require.NoError(t, err)
		require.Equal(t, s.Local, selected)
	}
	selected, _, err := s.Select("localhost,web01,!localhost")
	require.NoError(t, err)
	require.Equal(t, "web01", namesOf(selected))
	_, _, err = s.Select("local*")
	require.ErrorIs(t, err, ErrNothing)
}

func TestLimit(t *testing.T) {
	s := selector()
	s.LimitFile = func(path string) ([]string, error) {
		if path != "dir/limit" {
			return nil, errors.New("no such file: " + path)
		}
		return []string{"web02", "db-a"}, nil
	}
	s.LimitRun = func(run, state string) ([]string, error) {
		switch run + " " + state {
		case "last failed", "01K9ABCDEFGHJKMNPQRSTVWXYZ failed":
			return []string{"web03", "db-a"}, nil
		case "last changed":
			return nil, nil
		}
		return nil, errors.New("no such state: " + state)
	}
	web, _, err := s.Select("web")
	require.NoError(t, err)
	for _, tt := range []struct{ limit, want, err string }{
		{limit: "@last:failed", want: "web03"},
		{limit: "web01:@last:failed", want: "web01 web03"},
		{limit: "@last:failed,!web03,web02", want: "web02"},
		{limit: "@01K9ABCDEFGHJKMNPQRSTVWXYZ:failed", want: "web03"},
		{limit: "@last:changed", err: "the run has no such host, or the file is empty"},
		{limit: "@last:odd", err: "no such state: odd"},
		{limit: "@last", err: "no such file: last"},
		{limit: "dc1", want: "web01 web02"},
		{limit: "@dir/limit", want: "web02"},
		{limit: "@dir/gone", err: "no such file: dir/gone"},
		{limit: "db", err: "the limit excludes all selected hosts"},
		{limit: "db[0]", err: "the limit excludes all selected hosts\n  hint: pattern \"db[0]\": in a limit, an index counts all hosts of the inventory, not the selected hosts"},
	} {
		left, _, err := s.Limit(web, tt.limit)
		if tt.err != "" {
			require.EqualError(t, err, fmt.Sprintf("pattern %q: %s", tt.limit, tt.err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.want, namesOf(left))
	}
}

// A split pattern can be put together again.
func TestSplit(t *testing.T) {
	for _, tt := range vectors {
		terms, err := split(tt.pattern)
		if err != nil {
			continue
		}
		again, err := split(strings.Join(terms, ",") + ",")
		require.NoError(t, err)
		require.Equal(t, slices.Concat([]string{}, terms), slices.Concat([]string{}, again))
	}
}

func FuzzSelect(f *testing.F) {
	for _, tt := range vectors {
		f.Add(tt.pattern)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		selected, _, err := selector().Select(pattern)
		if err != nil {
			require.Empty(t, selected)
			var e *Error
			require.True(t, errors.As(err, &e))
			return
		}
		require.NotEmpty(t, selected)
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(selected))), len(selected), "a host is there twice")
		requirePartition(t, pattern)
	})
}

// requirePartition checks that a plain term and its negation share all hosts
// between them.
func requirePartition(t *testing.T, pattern string) {
	t.Helper()
	terms, err := split(pattern)
	require.NoError(t, err)
	if len(terms) != 1 || strings.ContainsAny(terms[0][:1], "&!") {
		return
	}
	m := matcher{Selector: selector()}
	with, err := m.combine(terms)
	require.NoError(t, err)
	without, err := m.combine([]string{"!" + terms[0]})
	require.NoError(t, err)
	all := slices.Concat(with, without)
	slices.Sort(all)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, all)
}
