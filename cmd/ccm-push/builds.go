package main

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport/start"
)

// loadBuilds gives the host programs of --module-dir, or the built-in ones.
func (a *app) loadBuilds() ([]builds.Build, error) {
	if a.flags.moduleDir != "" {
		return builds.Load(a.flags.moduleDir)
	}
	return builds.Embedded()
}

// addBuilds gives the runner the host programs it can send.
func (a *app) addBuilds(r *playbooks.Runner) error {
	list, err := a.loadBuilds()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("this ccm-push was built without the programs it sends to hosts: build it with make, or give a folder of them with --module-dir")
	}
	r.BuildID = list[0].ID
	for _, b := range list {
		build := start.Build{
			OS: b.OS, Arch: b.Arch, SHA256: b.SHA256, Size: b.Size,
			Compressed: b.Compressed, CompressedSize: b.CompressedSize, CompressedSHA256: b.CompressedSHA256,
		}
		if b.Full {
			r.FullBuilds = append(r.FullBuilds, build)
		} else {
			r.Builds = append(r.Builds, build)
		}
	}
	return nil
}
