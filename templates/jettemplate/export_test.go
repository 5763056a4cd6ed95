package jettemplate

import "github.com/ccm-push/ccm-push/templates/render"

// A Piece is a piece of a template, for the tests outside.
type Piece = piece

// Pieces returns the pieces of a template that can be used.
func Pieces(t *render.Template) (all []*Piece) {
	for _, s := range t.Engine.(*engine).sites {
		if s.piece != nil && !s.piece.off && (len(all) == 0 || all[len(all)-1] != s.piece) {
			all = append(all, s.piece)
		}
	}
	return all
}

func (p *piece) Again() int { return p.again } // how often it did not need to be made
func (p *piece) Made() int  { return p.made }
func (p *piece) Size() int  { return p.size } // in bytes
func (p *piece) Texts() int { return len(p.texts) }

const (
	MaxPiece   = maxPiece
	PieceTrial = pieceTrial
)

// Sections returns the number of sections of a template; -1 if it has other parts.
func Sections(t *render.Template) int {
	if all := t.Engine.(*engine).sections; all != nil {
		return len(all)
	}
	return -1
}
