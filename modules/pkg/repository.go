package pkg

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// Repositories is the access of the type repository to the package managers.
type Repositories struct{}

// By returns the package manager of a host for repositories: apt, dnf or zypper. If given is not empty, By uses it.
func (Repositories) By(h modules.Host, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	t, err := toolOf(h, "")
	if err == nil && (t.provider == "apk" || t.provider == "pacman") {
		err = modules.Refuse("%s has no files of single repositories; edit its own with a line resource", t.provider)
	}
	return t.provider, err
}

// A fetcher is a manager that fetches the lists of repositories that it does not know yet.
type fetcher interface {
	// fetchOf fetches the lists of the repositories that the files of a directory define. key is the path of a public
	// key to trust for that; empty means none.
	fetchOf(ctx context.Context, dir, key string) error
}

// fetcherOf returns the fetcher of a host.
func fetcherOf(h modules.Host, provider string) (fetcher, manager, error) {
	m, err := (&Package{Provider: provider, LockTimeout: "2m"}).manager(h)
	if err != nil {
		return nil, nil, err
	}
	f, ok := m.(fetcher)
	if !ok {
		return nil, nil, errors.New(provider + " has no files of single repositories")
	}
	return f, m, nil
}

// MayFetch returns the error with which Fetch would be refused.
func (Repositories) MayFetch(h modules.Host, provider string) error {
	_, m, err := fetcherOf(h, provider)
	if err != nil {
		return err
	}
	return modules.PermissionRefusal(h.Files.MayReplace(m.database()))
}

// Fetch runs a package manager to fetch the lists of the repositories that the files of a directory define, and of no
// other. key is the path of the public key that signs them, if zypper has to trust it.
func (Repositories) Fetch(ctx context.Context, h modules.Host, provider, dir, key string) error {
	f, _, err := fetcherOf(h, provider)
	if err != nil {
		return err
	}
	return f.fetchOf(ctx, dir, key)
}

// AddPrograms adds the programs of all package managers to the watched sources.
func (Repositories) AddPrograms(from *modules.Sources) {
	for _, t := range tools {
		from.AddProgram(t.program)
	}
}
