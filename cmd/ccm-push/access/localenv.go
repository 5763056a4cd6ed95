package access

import (
	"cmp"
	"os/user"
	"strings"
)

// localEnv returns the environment of programs that run on this machine because of connection: local. It equals the
// environment after a login: the program's own may hold secrets of other programs.
func localEnv(environ map[string]string, account *user.User) []string {
	home := cmp.Or(environ["HOME"], account.HomeDir)
	path := cmp.Or(environ["PATH"], "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	env := []string{"HOME=" + home, "USER=" + account.Username, "LOGNAME=" + account.Username, "SHELL=/bin/sh", "PATH=" + path}
	for name, value := range environ {
		if name == "LANG" || name == "TZ" || strings.HasPrefix(name, "LC_") {
			env = append(env, name+"="+value)
		}
	}
	return env
}
