package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// loadInventory reads the inventory that the command line names, or the first
// default one that exists. Beside manifests stand variables of groups and hosts. The
// first Ctrl-C ends it.
func (a *app) loadInventory(ctx context.Context, manifests ...string) (*inventory.Inventory, error) {
	paths, err := a.inventoryPaths()
	if err != nil {
		return nil, err
	}
	options := a.flags.inventoryOptions()
	if options.Folders, err = a.varsFolders(manifests); err != nil {
		return nil, err
	}
	waiting, end := a.untilStop(ctx)
	inv, err := inventory.Load(waiting, paths, options)
	end()
	switch {
	case a.stopped():
		return nil, exitStatus(interruptedStatus)
	case err != nil:
		return nil, err
	}
	for _, w := range inv.Warnings() {
		a.warn(w)
	}
	return inv, nil
}

// inventoryPaths are those of -i, or the default one.
func (a *app) inventoryPaths() ([]string, error) {
	if len(a.flags.inventory) > 0 {
		return a.flags.inventory, nil
	}
	path, err := a.defaultInventory()
	return []string{path}, err
}

// varsFolders are the folders beside the plays whose group_vars and host_vars are
// read: the one that is named, or those of the manifests. They are not looked for
// in an archive, and where there are no manifests not in the working folder.
func (a *app) varsFolders(manifests []string) ([]string, error) {
	if folder := a.flags.playbookDir; folder != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--playbook-dir %s: no such folder", folder)
		}
		return []string{folder}, nil
	}
	var folders []string
	for _, path := range manifests {
		folder := filepath.Dir(path)
		if source.IsArchive(path) || source.IsURL(path) || slices.Contains(folders, folder) || !hasVars(folder) {
			continue
		}
		if why := foreignFolder(folder); why != "" {
			return nil, fmt.Errorf("%s: its group_vars and host_vars are in a folder %s; if you trust it, say --playbook-dir %s", path, why, folder)
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

func hasVars(folder string) bool {
	for _, name := range []string{"group_vars", "host_vars"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
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
	if why := foreignFolder(dir); why != "" {
		return fmt.Errorf("hosts.yaml is in a folder %s; if you trust it, say -i hosts.yaml", why)
	}
	return nil
}

// foreignFolder says who but its reader and root may have written what is in a
// folder; "" if nobody.
func foreignFolder(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return "that cannot be read: " + err.Error()
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case info.Mode()&0o002 != 0:
		return "that every user can write to"
	case owner != 0 && owner != os.Geteuid():
		return "of another user"
	}
	return ""
}
