package kmod

import (
	"fmt"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// siblings are the files below name that a boot merges (modprobe.d(5), modules-load.d(5)), without our own.
func (k *Kmod) siblings(h modules.Host, name, own string) (list []string) {
	for _, file := range edit.Siblings(h.Files, modules.MergedFolders(name)...) {
		if file != own {
			list = append(list, file)
		}
	}
	return list
}

// contradicted returns a warning if another file makes a boot differ from the resource, or "".
func (k *Kmod) contradicted(h modules.Host) string {
	if k.Ensure == absent {
		for _, file := range k.siblings(h, "modules-load.d", loadFile) {
			for _, line := range edit.Lines(h.Files, file) {
				if k.loads(line) {
					return fmt.Sprintf("a boot loads %s, because of a line in %s", k.Name, file)
				}
			}
		}
		return ""
	}
	for _, file := range k.siblings(h, "modprobe.d", probeFile) {
		for _, line := range edit.Lines(h.Files, file) {
			words := strings.Fields(line)
			switch {
			case len(words) < 2 || kernelName(words[1]) != kernelName(k.Name):
			case words[0] == "blacklist" && (k.Persist == nil || *k.Persist):
				return fmt.Sprintf("a boot does not load %s, because %s has it on the blacklist", k.Name, file)
			case words[0] == "install":
				return fmt.Sprintf("modprobe runs %q in place of loading %s, because of a line in %s", strings.Join(words[2:], " "), k.Name, file)
			case words[0] == "options" && path.Base(file) > path.Base(probeFile):
				if other := k.overridden(words[2:]); other != "" {
					return fmt.Sprintf("modprobe reads %s after %s, and passes %s", file, probeFile, other)
				}
			}
		}
	}
	return k.onCommandLine(h)
}

// overridden returns the first of options that sets a parameter to another value; "" if none does. The kernel uses the
// last value.
func (k *Kmod) overridden(options []string) string {
	for _, option := range options {
		name, _, _ := strings.Cut(option, "=")
		for _, own := range k.Parameters {
			if key, _, _ := strings.Cut(own, "="); kernelName(key) == kernelName(name) && own != option {
				return option
			}
		}
	}
	return ""
}

// onCommandLine returns a warning if the command line of the kernel keeps the module away, or has other parameters.
// modprobe passes them last.
func (k *Kmod) onCommandLine(h modules.Host) string {
	text, _ := k.read(h, "/proc/cmdline") // an unreadable command line causes no warning
	for word := range strings.FieldsSeq(text) {
		if name, option, _ := strings.Cut(word, "."); kernelName(name) == kernelName(k.Name) && k.overridden([]string{option}) != "" {
			return fmt.Sprintf("modprobe passes %s, because the command line of the kernel has %s", option, word)
		}
		key, names, _ := strings.Cut(word, "=")
		atBoot := key == "modprobe.blacklist" && (k.Persist == nil || *k.Persist)
		if key != "module_blacklist" && !atBoot {
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			if kernelName(name) == kernelName(k.Name) {
				return fmt.Sprintf("a boot does not load %s, because the command line of the kernel has %s", k.Name, word)
			}
		}
	}
	return ""
}
