package pkg

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// order implements [judge]. rpm is asked, so that its order is what counts.
func (d dnf) order(ctx context.Context, one, other string) (int, error) {
	a, b := parseEVR(one), parseEVR(other)
	if order := cmp.Compare(number(a.epoch), number(b.epoch)); order != 0 {
		return order, nil
	}
	order, err := d.vercmp(ctx, a.version, b.version)
	if err != nil || order != 0 {
		return order, err
	}
	return d.vercmp(ctx, a.release, b.release)
}

// same implements [judge]. What wanted leaves open, epoch or release, may be
// anything, as for dnf itself.
func (d dnf) same(ctx context.Context, have, wanted string) (bool, error) {
	h, w := parseEVR(have), parseEVR(wanted)
	if w.epoch == "" {
		w.epoch = h.epoch
	}
	if w.release == "" {
		w.release = h.release
	}
	order, err := d.order(ctx, have, w.String())
	return err == nil && order == 0, err
}

func number(epoch string) int {
	n, _ := strconv.Atoi(epoch)
	return n
}

// vercmp asks rpm for the order of two versions or releases. Both have passed
// [versionCharacters] or are a package's own, which rpm keeps from quotes.
func (d dnf) vercmp(ctx context.Context, a, b string) (int, error) {
	if a == b {
		return 0, nil
	}
	if !versionCharacters.MatchString(a) || !versionCharacters.MatchString(b) {
		return 0, modules.Refuse("%q or %q is no version", a, b)
	}
	exit, err := d.query(ctx, Effect, nil, "rpm", "--eval", fmt.Sprintf("%%{lua:print(rpm.vercmp(%q,%q))}", a, b))
	if err != nil {
		return 0, err
	}
	order, err := strconv.Atoi(strings.TrimSpace(exit.Stdout.Text))
	if err != nil {
		return 0, failure("rpm --eval", exit, nil)
	}
	return order, nil
}
