package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRange checks the examples of Cargo's documentation, and DSC's additions.
func TestRange(t *testing.T) {
	for _, test := range []struct {
		text    string
		in, out []string
	}{
		{"", []string{"0.0.1", "9.9.9", "1.0.0-a", "2024-01-01"}, nil},
		{"*", []string{"0.0.1", "9.9.9"}, nil},
		{"1.2.3", []string{"1.2.3", "1.9.0"}, []string{"1.2.2", "2.0.0"}},
		{"^1.2", []string{"1.2.0", "1.9.9"}, []string{"1.1.9", "2.0.0"}},
		{"1", []string{"1.0.0", "1.99.0"}, []string{"0.9.0", "2.0.0"}},
		{"0.2.3", []string{"0.2.3", "0.2.9"}, []string{"0.3.0", "0.2.2"}},
		{"0.0.3", []string{"0.0.3"}, []string{"0.0.4", "0.0.2"}},
		{"0.0", []string{"0.0.9"}, []string{"0.1.0"}},
		{"0", []string{"0.9.9"}, []string{"1.0.0"}},
		{"~1.2.3", []string{"1.2.3", "1.2.9"}, []string{"1.3.0"}},
		{"~1.2", []string{"1.2.0"}, []string{"1.3.0"}},
		{"~1", []string{"1.9.0"}, []string{"2.0.0"}},
		{"1.*", []string{"1.0.0", "1.9.9"}, []string{"2.0.0"}},
		{"1.2.*", []string{"1.2.9"}, []string{"1.3.0"}},
		{">= 1.2.0", []string{"1.2.0", "7.0.0"}, []string{"1.1.9"}},
		{"> 1", []string{"2.0.0"}, []string{"1.9.9"}},
		{"< 2", []string{"1.9.9"}, []string{"2.0.0"}},
		{"=1.2.3", []string{"1.2.3"}, []string{"1.2.4"}},
		{"= 1.2", []string{"1.2.3", "1.2.4"}, []string{"1.3.0"}},
		{">= 1.2, < 1.5", []string{"1.2.0", "1.4.9"}, []string{"1.1.0", "1.5.0"}},
		{"1.2.3-beta.1", []string{"1.2.3-beta.2", "1.2.3", "1.9.0"}, []string{"1.2.3-alpha", "1.3.0-beta.2"}},
		{">=1.0.0", []string{"1.0.0"}, []string{"1.0.0-rc.1", "2.0.0-rc.1"}},
		{"2024-02-01", []string{"2024-02-01"}, []string{"2024-02-02", "1.0.0"}},
		{"=2024-02-01-preview", []string{"2024-02-01-preview"}, []string{"2024-02-01"}},
	} {
		r, err := ParseRange(test.text)
		require.NoError(t, err, test.text)
		for _, text := range test.in {
			v, err := ParseVersion(text)
			require.NoError(t, err)
			require.True(t, r.Has(v), "%s in %s", text, test.text)
		}
		for _, text := range test.out {
			v, err := ParseVersion(text)
			require.NoError(t, err)
			require.False(t, r.Has(v), "%s in %s", text, test.text)
		}
	}
}

func TestBadRange(t *testing.T) {
	for _, text := range []string{"x", "1.2.3.4", "1 2", "||", "1 || 2", "1,,2", ">", "01.2.3", "1.2.x", "!=1", "1 - 2"} {
		_, err := ParseRange(text)
		require.ErrorIs(t, err, errRange, text)
	}
	_, err := ParseRange("1.x")
	require.EqualError(t, err, `"1.x" is no range of versions, such as ^1.2 or >=1.0, <2.0`)
}

func TestCompare(t *testing.T) {
	ascending := []string{"2023-10-01", "2024-01-01", "0.9.0", "1.0.0-alpha", "1.0.0-beta", "1.0.0", "1.10.0", "2.0.0"}
	for i, a := range ascending {
		for j, b := range ascending {
			v, err := ParseVersion(a)
			require.NoError(t, err)
			w, err := ParseVersion(b)
			require.NoError(t, err)
			switch c := v.Compare(w); {
			case i < j:
				require.Negative(t, c, "%s %s", a, b)
			case i > j:
				require.Positive(t, c, "%s %s", a, b)
			default:
				require.Zero(t, c)
			}
		}
	}
	for _, bad := range []string{"", "1", "1.0", "v1.0.0", "2024-13-01", "a"} {
		_, err := ParseVersion(bad)
		require.Error(t, err, bad)
	}
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{"1.2.3", "^1", ">=1, <2", "1.*", "2024-01-01", "=1.2.3-a.b+c", "*"} {
		f.Add(s, "1.2.3")
	}
	f.Fuzz(func(t *testing.T, text, version string) {
		v, err := ParseVersion(version)
		if err != nil {
			return
		}
		require.Zero(t, v.Compare(v))
		r, err := ParseRange(text)
		if err == nil {
			r.Has(v)
		}
		if exact, err := ParseRange("=" + version); err == nil && !v.IsDate() {
			require.True(t, exact.Has(v), version)
		}
	})
}
