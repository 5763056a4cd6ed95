//go:build host

package exec

// commandLine is nil: no host reads the command line of ccm-push.
var commandLine func(words []string) (map[string]any, error)
