package main

import (
	"cmp"
	"os/user"
	"strings"
)

// localEnv is the environment of what runs on this machine because of connection:
// local. It is what a login would give: our own may hold secrets of other programs.
func (a *app) localEnv(account *user.User) []string {
	home := cmp.Or(a.home(), account.HomeDir)
	path := a.getenv("PATH")
	if path == "" {
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	env := []string{"HOME=" + home, "USER=" + account.Username, "LOGNAME=" + account.Username, "SHELL=/bin/sh", "PATH=" + path}
	for name, value := range a.environ {
		if name == "LANG" || name == "TZ" || strings.HasPrefix(name, "LC_") {
			env = append(env, name+"="+value)
		}
	}
	return env
}
