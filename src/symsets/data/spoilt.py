"""Sets for finding the best shot: one photograph, spoilt in every shot in another way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from symsets._checks import check_choice, positive
from symsets.data import degrading
from symsets.data.augment import Augment
from symsets.data.on_the_fly import OnTheFlySets
from symsets.data.shots import SPARE, checked_size

BLURS = ("defocus", "blur", "shake")  # a shot has one of them at most
KINDS = (*BLURS, "noise", "exposure", "jpeg", "aperture")
RADIUS, SIGMA, PATH = 5.0, 3.0, 20.0  # px: largest disc, Gaussian and path of a shaking camera
FAINT, STRONG = (0.5, 6.0), 30.0  # grey levels of noise: of all shots, and of spoilt ones
GAIN, STOPS = 0.9, 4.0  # logarithm of the largest change of exposure; stops of a closed aperture
WORST, FINEST = 10.0, 95.0  # quality of JPEG
SOFT = 1.5  # px: half of all scenes are blurred by up to this, as large photographs are
MORE = 0.25  # the share of shots that a further kind spoils
SHIFT = 2  # px
GREY = 0.15  # the share of scenes without colours
HALVED = 0.6  # the share of JPEG that keeps colours at half the size
BRIGHTNESS = 0.1  # the weight of a wrong brightness or contrast, beside that of other errors
SMALLEST = 1e-5  # of an error: 50 dB


class SpoiltSets(OnTheFlySets):
    r"""Shots of one scene, each spoilt in its own way, and how good each of them is.

    A shot is moved by up to two whole pixels, and one or more things went wrong with it: defocus, a
    Gaussian blur, a shaking camera, noise, a wrong exposure (clipped where it is too bright), JPEG,
    or a closed aperture (little light, made up for by amplifying, which amplifies the noise). In
    half of all sets the same thing went wrong with all shots, more or less; the others are mixed.
    All shots of a set have some noise in common. The noise of one colour is more or less like that
    of another, as cameras leave it; some scenes are grey.

    How good a shot :math:`x_i` is, is its PSNR in decibels against the scene :math:`y_i` at its
    place, where a wrong brightness and contrast counts a tenth:

    .. math:: q_i = -10 \log_{10} (0.9 \, e_i + 0.1 \, d_i), \qquad
        e_i = \min_{a, b} \overline{(a x_i + b - y_i)^2}, \quad d_i = \overline{(x_i - y_i)^2}

    The best shot is the one with the largest :math:`q_i`. A dark picture is thus worse than a
    bright one, but not much, as long as nothing was clipped and the noise stayed.

    Args:
        images: Photographs ``(M, 3, S, S)``, bytes.
        num_sets: Sets of one pass.
        num_elements: Shots in a set.
        size: Height and width of a crop, a multiple of 8, at most S − 32.
        kinds: What may go wrong, of :data:`KINDS`.
        seed: Fixes the sets for evaluation.

    Shape:
        - sets: ``(B, N, 3, size, size)``.
        - targets: :math:`q`, ``(B, N)``.

    Example:
        >>> images = torch.randint(256, (5, 3, 96, 96), dtype=torch.uint8)
        >>> x, y = SpoiltSets(images, 4, size=64).part(0, 4)
        >>> x.shape, y.shape
        (torch.Size([4, 8, 3, 64, 64]), torch.Size([4, 8]))
    """

    def __init__(
        self,
        images: Tensor,
        num_sets: int,
        *,
        num_elements: int = 8,
        size: int = 96,
        kinds: Sequence[str] = KINDS,
        seed: int = 0,
    ) -> None:
        super().__init__(images, num_sets, seed=seed)
        self.num_elements = positive("num_elements", num_elements)
        self.size = checked_size(size, images.shape[-1] - 2 * SPARE)
        for kind in kinds:
            check_choice("kinds", kind, KINDS)
        self.kinds = tuple(dict.fromkeys(kinds))
        self.augment = Augment(size + 2 * SPARE, rotate=True)

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        shape = (len(which), self.num_elements)
        uniform = partial(self.uniform, generator)
        photo = self.material[which % len(self.material)][:, None]
        scene = self.augment(photo, generator=generator, move=augment) / 255  # (B, 1, 3, S, S)
        is_grey = uniform(len(which), 1) < GREY
        scene = torch.where(_each(is_grey), degrading.grey(scene), scene)
        soft = SOFT * uniform(len(which), 1) * (uniform(len(which), 1) < 0.5)
        scene = degrading.blur(scene, degrading.gaussian_kernels(soft))
        shifts = ((2 * SHIFT + 1) * uniform(*shape, 2)).floor() - SHIFT
        scenes = scene.expand(-1, shape[1], -1, -1, -1).flatten(0, 1)
        still = torch.zeros(len(scenes), device=self.device)
        scenes = degrading.move(scenes, shifts.flatten(0, 1), still, self.size + 2 * SPARE)
        scenes = scenes.unflatten(0, shape).clamp(0, 1)
        x = self._spoil(scenes, is_grey, generator)
        return x, quality(x, scenes[..., SPARE:-SPARE, SPARE:-SPARE])

    def _spoil(self, scenes: Tensor, is_grey: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return shots ``(B, N, 3, size, size)`` of scenes."""
        shape = scenes.shape[:2]
        uniform, normal = partial(self.uniform, generator), partial(self.normal, generator)
        wrong = self._what_goes_wrong(shape, generator)

        def strength(kind: str) -> Tensor:
            """Draw numbers from 0 to 1, and 0 for shots that are not spoilt in this way."""
            return uniform(*shape) * wrong[kind]

        x = degrading.blur(scenes, self._kernels(wrong, generator))
        x = x[..., SPARE:-SPARE, SPARE:-SPARE].clamp(0, 1)
        sign = torch.where(uniform(*shape) < 0.5, -1.0, 1.0)
        exposed = (x * _each(torch.exp(GAIN * sign * strength("exposure")))).clamp(0, 1)
        # Less light for the same sensor, and its picture amplified
        light = _each(2 ** (-STOPS * strength("aperture")))
        low, high = FAINT
        faint = low * (high / low) ** uniform(len(x), 1)
        noise = faint + wrong["noise"] * STRONG ** uniform(*shape)
        share = _each(uniform(len(x), 1))
        # The square: mostly the colours differ.
        alike = _each(torch.where(is_grey, 1.0, uniform(len(x), 1).square()))
        seen = degrading.sensor_noise(exposed * light, _each(noise / 255), share, normal, alike)
        x = (255 * (seen / light)).round().clamp(0, 255) / 255
        worst = FINEST - (FINEST - WORST) * strength("jpeg")
        halved = (uniform(len(x), 1) < HALVED).expand(shape)
        stored = degrading.jpeg(x.flatten(0, 1), worst.flatten(), halved.flatten())
        stored = stored.unflatten(0, shape)
        return torch.where(_each(wrong["jpeg"]), stored, x)

    def _what_goes_wrong(
        self, shape: torch.Size, generator: torch.Generator | None
    ) -> dict[str, Tensor]:
        """Tell for each kind which shots ``(B, N)`` it spoils: one or more for every shot."""
        uniform = partial(self.uniform, generator)
        own, common = uniform(*shape), uniform(shape[0], 1).expand(shape)
        main = torch.where(uniform(shape[0], 1) < 0.5, own, common) * len(self.kinds)
        keys = uniform(*shape, len(self.kinds))
        keys = keys.scatter(2, main.long()[..., None], -1.0)  # the main kind comes first
        blurs = [k for k, kind in enumerate(self.kinds) if kind in BLURS]
        if blurs:
            first = keys[..., blurs].amin(2, keepdim=True)
            keys[..., blurs] = torch.where(keys[..., blurs] == first, first, 1.0)
        found = dict(zip(self.kinds, (keys < MORE).unbind(2), strict=True))
        never = torch.zeros(shape, dtype=torch.bool, device=self.device)
        return {kind: found.get(kind, never) for kind in KINDS}

    def _kernels(self, wrong: dict[str, Tensor], generator: torch.Generator | None) -> Tensor:
        """Return the kernel of each shot ``(B, N, k, k)``: a point where nothing is blurred."""
        uniform, normal = partial(self.uniform, generator), partial(self.normal, generator)
        shape = wrong["shake"].shape
        kernels = degrading.gaussian_kernels(SIGMA * uniform(*shape) * wrong["blur"])
        discs = degrading.disc_kernels(RADIUS * uniform(*shape))
        shaken = degrading.shake_kernels(shape, PATH, uniform, normal, centred=True)
        kernels = torch.where(wrong["defocus"][..., None, None], discs, kernels)
        return torch.where(wrong["shake"][..., None, None], shaken, kernels)


def quality(shots: Tensor, scenes: Tensor) -> Tensor:
    """Return how good shots are, in decibels (see :class:`SpoiltSets`).

    Args:
        shots: ``(…, C, H, W)``.
        scenes: What they should show, of the same shape.

    Example:
        >>> scene = torch.rand(1, 3, 16, 16)
        >>> quality(torch.cat([scene, 0.5 * scene, scene + 0.1 * torch.randn(3, 16, 16)]), scene)
        tensor([50.0000, 20..., 20...])
    """
    x, y = shots.flatten(-3), scenes.flatten(-3)
    total = (x - y).square().mean(-1)
    x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
    product = (x * y).mean(-1)
    explained = product.square() / x.square().mean(-1).clamp(min=1e-12)
    fitted = (y.square().mean(-1) - explained).clamp(min=0)
    error = (1 - BRIGHTNESS) * fitted + BRIGHTNESS * total
    return -10 * (error + SMALLEST).log10()


def _each(numbers: Tensor) -> Tensor:
    """Let numbers ``(B, N)`` meet all pixels of their shots."""
    return numbers[..., None, None, None]
