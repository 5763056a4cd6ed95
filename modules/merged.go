package modules

// MergeRoots lists the folders in which a host looks for a folder such as sysctl.d, highest priority first. If several have a
// file with one name, the host reads the first (sysctl.d(5), systemd.unit(5) and others). /usr/lib and /lib may be one folder.
var MergeRoots = []string{"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"}

// UnitFolders lists the folders of the unit files of systemd, highest priority first. Units that generators make, for
// example from fstab, come after the first two.
var UnitFolders = MergedFolders("systemd/system")

// MergedFolders returns the folders whose files a host merges, highest priority first: name below each of [MergeRoots].
func MergedFolders(name string) []string {
	var all []string
	for _, root := range MergeRoots {
		all = append(all, root+"/"+name)
	}
	return all
}
