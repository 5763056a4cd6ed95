package process

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Self is the own user, for [modules.Command]: a program that is started as that user has
// its HOME, USER and LOGNAME. It is "" if the user is in no directory of users.
func Self(ctx context.Context, h modules.Host) string {
	id := strconv.Itoa(os.Geteuid())
	if h.Accounts == nil || h.Accounts.UserName(ctx, os.Geteuid()) == id {
		return ""
	}
	return id
}

// JSON is a value in one line, with characters as they are.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// Show tells whoever looks for a fault all that a program has printed to no avail. what
// is the call; text has no secrets any more.
func Show(to modules.Reporter, what, text string) {
	if text = strings.TrimSpace(text); text != "" {
		to.Message(modules.LevelDebug, what+" printed:\n"+text)
	}
}
