package inventory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrNone is why an inventory is not found.
var ErrNone = errors.New("no inventory")

// Find returns the inventory to read if the command line names no inventory: the inventory of the environment, or the
// first existing default. A default in the working folder is refused if another user may have put it there.
func Find(getenv func(string) string) (string, error) {
	if path := getenv("CCM_PUSH_INVENTORY"); path != "" {
		return path, nil
	}
	const local = "hosts.yaml"
	config := getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(getenv("HOME"), ".config")
	}
	looked := []string{local, filepath.Join(config, "ccm-push", "hosts.yaml"), "/etc/ccm-push/hosts.yaml"}
	for _, path := range looked {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		if why := foreignFolder("."); path == local && why != "" {
			return path, fmt.Errorf("hosts.yaml is in a folder %s; if you trust the folder, pass -i hosts.yaml", why)
		}
		return path, nil
	}
	return "", fmt.Errorf("%w: pass -i FILE, or create one of the files %s", ErrNone, strings.Join(looked, ", "))
}

// FoldersBeside returns the folders of manifests that have group_vars or host_vars, each once. Folders that others can
// write to are refused.
func FoldersBeside(manifests []string) ([]string, error) {
	var folders []string
	for _, path := range manifests {
		folder := filepath.Dir(path)
		if slices.Contains(folders, folder) || !hasVars(folder) {
			continue
		}
		if why := foreignFolder(folder); why != "" {
			return nil, fmt.Errorf("%s: ccm-push refuses the group_vars and host_vars next to this file, because they are in a folder %s; if you trust the folder, pass --playbook-dir %s", path, why, folder)
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

// foreignFolder describes why users other than the reader and root may have written the files in a folder; "" if no
// other user may.
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
