package pkg

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLanguageOrder compares versions in ascending order; the versions in one line are equal. Most examples are from
// PEP 440 ("Summary of permitted suffixes and relative ordering") and semver.org (11).
func TestLanguageOrder(t *testing.T) {
	for _, test := range []struct {
		name    string
		compare func(a, b string) int
		rows    [][]string
	}{
		{"python", comparePython, [][]string{
			{"no version"}, {"0.9"}, {"1.0.dev0", "1.dev"}, {"1.0.dev456"}, {"1.0a1", "1.0-alpha.1", "1a01"}, {"1.0a2.dev456"}, {"1.0a12.dev456"}, {"1.0a12"}, {"1.0b1.dev456"}, {"1.0b2"},
			{"1.0b2.post345.dev456"}, {"1.0b2.post345"}, {"1.0rc1.dev456"}, {"1.0rc1", "1.0c1", "1.0-preview1"}, {"1.0", "1", "v1.0.0"}, {"1.0+abc.5"}, {"1.0+abc.7", "1.0+abc-7"}, {"1.0+5"}, {"1.0+5.1"},
			{"1.0.post456.dev34"}, {"1.0.post456", "1.0-456", "1.0.r456"}, {"1.0.15"}, {"1.1.dev1"}, {"1.10"}, {"99999999999999999999.1"}, {"1!0.1"},
		}},
		{"semantic", compareSemantic, [][]string{
			{"0.9.9"}, {"1.0.0-alpha"}, {"1.0.0-alpha.1"}, {"1.0.0-alpha.beta"}, {"1.0.0-beta"}, {"1.0.0-beta.2"}, {"1.0.0-beta.11"}, {"1.0.0-rc.1"}, {"1.0.0", "v1.0.0", "1.0.0+build.5"},
			{"1.0.1"}, {"1.10.0"}, {"99999999999999999999.0.0"},
		}},
	} {
		for i, row := range test.rows {
			for _, a := range row {
				for k, other := range test.rows {
					for _, b := range other {
						order := test.compare(a, b)
						require.Equal(t, [3]bool{i < k, i == k, i > k}, [3]bool{order < 0, order == 0, order > 0}, "%s: %s and %s", test.name, a, b)
					}
				}
			}
		}
	}
}

func TestWouldInstall(t *testing.T) {
	require.Equal(t, []consequence{{"e2e-demo", "2.0"}, {"a", "1.0+cpu"}}, wouldInstall("e2e_Demo-2.0 a-1.0+cpu"))
	require.Equal(t, "flask[async]==2.0", pipSpec(item{name: "flask[async]", version: "2.0", within: "< 3"}))
	require.Equal(t, "flask>=2.0,<3,!=2.1,==2.2", pipSpec(item{name: "flask", within: ">= 2.0, < 3, != 2.1, = 2.2"}))
}
