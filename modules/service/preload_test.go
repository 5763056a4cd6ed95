package service

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// systemctlSays is a host with systemd whose programs all end like this.
type systemctlSays struct {
	modules.Commands
	exit  modules.Exit
	err   error
	asked *[][]string
}

func (s systemctlSays) Probe(_ context.Context, c modules.Command) (modules.Exit, error) {
	*s.asked = append(*s.asked, c.Argv)
	return s.exit, s.err
}

func TestShowAll(t *testing.T) {
	cron := shown("Id=cron.service", "Names=cron.service")
	said := func(text string) modules.Exit { return modules.Exit{Stdout: modules.Output{Text: text}} }
	broken := errors.New("no such program")
	for _, test := range []struct {
		name string
		exit modules.Exit
		err  error
		want []string // the units that are known then
	}{
		{name: "both", exit: said(cron + "\n" + shown()), want: []string{"cron.service", "sshd.service"}},
		{name: "another order", exit: said(shown() + "\n" + cron)},
		{name: "one is missing", exit: said(cron)},
		{name: "one too many", exit: said(cron + "\n" + shown() + "\n" + shown())},
		{name: "nothing", exit: said("")},
		{name: "it is cut off", exit: modules.Exit{Stdout: modules.Output{Text: cron + "\n" + shown(), Dropped: 1}}},
		{name: "it fails", exit: modules.Exit{Code: 1}},
		{name: "it cannot be started", err: broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked [][]string
			h := modules.Host{Commands: systemctlSays{exit: test.exit, err: test.err, asked: &asked}}
			units := map[string]unit{}
			err := showAll(t.Context(), h, []string{"cron.service", "sshd.service"}, units)
			require.Equal(t, test.err, err)
			var known []string
			for name := range units {
				known = append(known, name)
			}
			slices.Sort(known)
			require.Equal(t, test.want, known)
			require.Len(t, asked, 1)
			require.Equal(t, []string{"--", "cron.service", "sshd.service"}, asked[0][len(asked[0])-3:])
		})
	}
}

// TestPreloadInParts uses more units than fit in one query.
func TestPreloadInParts(t *testing.T) {
	h := modtest.Host()
	h.Files.FileReader = booted{h.Files.FileReader}
	var asked [][]string
	h.Commands = systemctlSays{asked: &asked}
	var all []modules.Resource
	for i := range 2*maxUnits + 1 {
		all = append(all, &Service{Name: "app@" + string(rune('a'+i%26)) + string(rune('a'+i/26))}, &Service{Name: "cron"})
	}
	_, err := all[0].(*Service).Preload(t.Context(), h, all)
	require.NoError(t, err)
	require.Len(t, asked, 3)
	const fixed = 7 // words before the names
	require.Equal(t, 2*maxUnits+2, len(asked[0])+len(asked[1])+len(asked[2])-3*fixed)
}

// booted is a host on which systemd runs.
type booted struct{ modules.FileReader }

func (b booted) Stat(name string) (modules.FileInfo, error) {
	if name == "/run/systemd/system" || name == "/run" || name == "/run/systemd" {
		return modules.FileInfo{Kind: modules.Directory}, nil
	}
	return b.FileReader.Stat(name)
}
