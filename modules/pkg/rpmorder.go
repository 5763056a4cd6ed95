package pkg

import (
	"context"
	"strconv"

	rpmversion "github.com/knqyf263/go-rpm-version"
)

// compareRPM orders two versions, [epoch:]version[-release], as rpm does: below 0
// if the first is lower.
func compareRPM(a, b string) int {
	return rpmversion.NewVersion(a).Compare(rpmversion.NewVersion(b))
}

// order implements [judge].
func (rpmdb) order(_ context.Context, one, other string) (int, error) {
	return compareRPM(one, other), nil
}

// same implements [judge]. What wanted leaves open, epoch or release, may be
// anything, as for dnf itself.
func (rpmdb) same(_ context.Context, have, wanted string) (bool, error) {
	h, w := parseEVR(have), parseEVR(wanted)
	if w.epoch == "" {
		w.epoch = h.epoch
	}
	if w.release == "" {
		w.release = h.release
	}
	return compareRPM(have, w.String()) == 0, nil
}

func number(epoch string) int {
	n, _ := strconv.Atoi(epoch)
	return n
}
