package pkg

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The fuzz targets of this file check that the parsed output of package managers is bounded, and contains nothing that
// is not in the input.

func FuzzAptPolicy(f *testing.F) {
	f.Add(policyOfBash)
	f.Add(policyOfVirtual)
	f.Fuzz(func(t *testing.T, text string) {
		var p aptPolicy
		feed(text, p.line)
		require.LessOrEqual(t, len(p.versions), maxVersions)
		for _, v := range append(p.versions, p.candidate) {
			require.Contains(t, text, v)
		}
	})
}

func FuzzDpkgRow(f *testing.F) {
	f.Add("hold\tinstalled\tmawk:amd64\t1.3.4\tamd64\tawk, mta (= 1.0)", "awk")
	f.Fuzz(func(t *testing.T, line, name string) {
		r := parseDpkgRow(line)
		s := r.state()
		require.False(t, s.Installed && s.Unfinished != "")
		require.Contains(t, line, s.Version)
		if r.provides(name) {
			require.Contains(t, line, name)
		}
	})
}

func FuzzManagerOutput(f *testing.F) {
	for _, text := range []string{simulation, unmetDependencies, brokenScript, dnfTable, dnfScript, dnfLockedOut} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var apt aptOutput
		var dnf dnfOutput
		feed(text, apt.line)
		feed(text, dnf.line)
		require.LessOrEqual(t, len(apt.reasons), maxReasons)
		require.LessOrEqual(t, len(dnf.reasons), maxReasons)
		require.LessOrEqual(t, len(apt.done), maxConsequences)
		for _, c := range append(apt.done, dnf.done...) {
			require.NotEmpty(t, c.name)
			require.NotContains(t, c.name, " ")
			require.Contains(t, text, c.version)
		}
		apt.lockedOut(text)
		require.NotEmpty(t, dnfHolder(text))
	})
}

func FuzzRPMRow(f *testing.F) {
	f.Add("tepoch\t2\t1.0\t1.el9\tx86_64")
	f.Fuzz(func(t *testing.T, line string) {
		row, ok := parseRPMRow(line)
		if !ok {
			return
		}
		require.Equal(t, row.version, parseEVR(row.version).String())
		base, arch := splitArch(row.name)
		require.True(t, strings.HasPrefix(row.name, base) && strings.HasSuffix(row.name, arch))
	})
}
