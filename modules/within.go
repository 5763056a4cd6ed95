package modules

import "errors"

// Confiner is a [FileWriter] that can keep to one directory.
type Confiner interface {
	// Within gives a writer whose changes all happen below dir, whatever symbolic
	// links lead out of it, also ones that are put there while it works. A path
	// that is not below dir is an error. dir itself may be reached through links.
	Within(dir string) FileWriter
}

// Within is that of [Confiner].
func (f Files) Within(dir string) (FileWriter, error) {
	c, ok := f.FileWriter.(Confiner)
	if !ok {
		return nil, errors.New("changes cannot be kept to a directory here")
	}
	return c.Within(dir), nil
}
