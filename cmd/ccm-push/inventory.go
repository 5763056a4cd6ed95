package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/inventory"
)

// loadInventory reads the inventory that the command line names, or the first
// default one that exists.
func (a *app) loadInventory() (*inventory.Inventory, error) {
	paths := a.flags.inventory
	if len(paths) == 0 {
		path, err := a.defaultInventory()
		if err != nil {
			return nil, err
		}
		paths = []string{path}
	}
	inv, err := inventory.Load(paths)
	if err != nil {
		return nil, err
	}
	for _, w := range inv.Warnings() {
		a.warn(w)
	}
	return inv, nil
}

func (a *app) defaultInventory() (string, error) {
	if path := a.getenv("CCM_PUSH_INVENTORY"); path != "" {
		return path, nil
	}
	const local = "hosts.yaml"
	config := a.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(a.getenv("HOME"), ".config")
	}
	looked := []string{local, filepath.Join(config, "ccm-push", "hosts.yaml"), "/etc/ccm-push/hosts.yaml"}
	for _, path := range looked {
		if !isFile(path) {
			continue
		}
		if path == local {
			return path, checkFolder(".")
		}
		return path, nil
	}
	return "", fmt.Errorf("%w: give one with -i, or make one of %s", errNoInventory, strings.Join(looked, ", "))
}

var errNoInventory = errors.New("there is no inventory")

// checkFolder refuses to read an inventory unasked that somebody else may have
// put where we happen to work.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case info.Mode()&0o002 != 0:
		return errors.New("hosts.yaml is in a folder that every user can write to; if you trust it, say -i hosts.yaml")
	case owner != 0 && owner != os.Geteuid():
		return errors.New("hosts.yaml is in a folder of another user; if you trust it, say -i hosts.yaml")
	}
	return nil
}
