package inventory

// Options say what [Load] reads besides the inventories, and what it lets pass.
// The zero value is the strict choice. The comments name the flag that is meant
// to set a field.
type Options struct {
	// Folders are those of the manifests: what group_vars/ and host_vars/ in them
	// say counts more than what stands beside the inventories, and in a later
	// folder more than in an earlier one. Whoever names a folder vouches for it: it
	// is for the caller not to name one that another user has made.
	Folders []string
	// AllowScripts runs the scripts that stand in an inventory directory. One that
	// is named itself is run without it. (--allow-inventory-scripts)
	AllowScripts bool
	// AllowNameClash makes it a warning that a host and a group have one name; a
	// pattern then means the host. (--allow-name-clash)
	AllowNameClash bool
	// AllowEmpty has a pattern that selects nothing select nothing, instead of
	// being an error; it comes with a warning. (--allow-empty)
	AllowEmpty bool
	// AllowImplicitLocalhost has the patterns localhost, 127.0.0.1 and ::1 mean this
	// machine, without SSH, if the inventory does not list it. It is never part of
	// all. (--allow-implicit-localhost)
	AllowImplicitLocalhost bool
	// StrictPatterns makes it an error that a term of a pattern matches nothing,
	// also if other terms do. (--strict-patterns)
	StrictPatterns bool
	// MergeMaps merges maps that several layers have under one name, key by key,
	// instead of replacing the lower one whole. Lists are replaced. It is what
	// Ansible's hash_behaviour=merge does. (--merge-maps)
	MergeMaps bool
}
