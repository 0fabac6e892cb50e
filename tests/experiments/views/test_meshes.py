import json
import struct

import numpy as np
import pytest
import torch

from symsets.experiments.study.catalogue import view_source
from symsets.experiments.views.meshes import MeshFolder, load_mesh, render_mesh

F64 = torch.float64
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=np.float64)
pytest.importorskip("trimesh", reason="needs trimesh")
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def triangles():
    return np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])


def write_obj(path, faces=True, style="{}"):
    lines = ["# a box", "vn 0 0 1", *("v {} {} {}".format(*v) for v in CUBE)]
    if faces:
        lines += ["f " + " ".join(style.format(i + 1) for i in quad) for quad in QUADS]
    path.write_text("\n".join(lines))
    return path


def write_ply(path, kind="ascii", faces=QUADS):
    head = f"ply\nformat {kind} 1.0\ncomment a box\nelement vertex 8\n"
    head += "property float x\nproperty float y\nproperty float z\nproperty uchar red\n"
    head += f"element face {len(faces)}\n"
    head += "property list uchar int vertex_indices\nend_header\n"
    if kind == "ascii":
        body = "".join("{} {} {} 7\n".format(*v) for v in CUBE)
        body += "".join(" ".join(map(str, (len(q), *q))) + "\n" for q in faces)
        path.write_bytes((head + body).encode())
        return path
    order = "<" if "little" in kind else ">"
    body = b"".join(struct.pack(order + "fffB", *v, 7) for v in CUBE)
    body += b"".join(struct.pack(f"{order}B{len(q)}i", len(q), *q) for q in faces)
    path.write_bytes(head.encode() + body)
    return path


def write_off(path):
    lines = ["OFF", "8 6 0", *("{} {} {}".format(*v) for v in CUBE)]
    path.write_text("\n".join([*lines, *("4 {} {} {} {}".format(*q) for q in QUADS)]))
    return path


def write_stl(path):
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *CUBE[t].flatten(), 0) for t in triangles())
    path.write_bytes(bytes(80) + struct.pack("<I", len(triangles())) + body)
    return path


def write_glb(path, **changes):
    """Write the box lying on its side, turned back and stretched by two nested nodes."""
    low = CUBE * [1, 0.5, 1]
    turned = low[:, [1, 0, 2]] * [1, -1, 1]  # a quarter turn about z
    data = turned.astype("<f4").tobytes() + triangles().astype("<u2").tobytes()
    tree = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"children": [1], "translation": [5, 0, 0], "scale": [2, 4, 2]},
            {"mesh": 0, "rotation": [0, 0, 0.5**0.5, 0.5**0.5]},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 8},
            {"bufferView": 1, "componentType": 5123, "type": "SCALAR", "count": 36},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 96},
            {"buffer": 0, "byteOffset": 96, "byteLength": 72},
        ],
        "buffers": [{"byteLength": len(data)}],
    } | changes
    tree = {key: value for key, value in tree.items() if value is not None}
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(data), 0x004E4942) + data
    path.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
    return path


@pytest.mark.parametrize(
    "write",
    [
        lambda p: write_obj(p / "box.obj"),
        lambda p: write_obj(p / "box.obj", style="{}/1/1"),
        lambda p: write_obj(p / "box.OBJ", style="{}//1"),
        lambda p: write_ply(p / "box.ply"),
        lambda p: write_ply(p / "box.ply", "binary_little_endian"),
        lambda p: write_ply(p / "box.ply", "binary_big_endian"),
        lambda p: write_glb(p / "box.glb"),
        lambda p: write_off(p / "box.off"),
        lambda p: write_stl(p / "box.stl"),
    ],
)
def test_all_kinds_of_files_give_the_same_normalised_box(write, tmp_path):
    mesh = load_mesh(write(tmp_path))
    expected = torch.from_numpy(((CUBE - [0.5, 1, 1.5]) / 14**0.5 + 0.5)[triangles()])
    assert corners(mesh) == corners(expected)


def corners(mesh):
    """Return triangles in an order of their own, each from its lowest corner on."""
    rows = [[tuple(corner) for corner in t] for t in (mesh * 1000).round().int().tolist()]
    return sorted(t[t.index(min(t)) :] + t[: t.index(min(t))] for t in rows)


TWO = ((0, 0, 0), (1, 0, 0), (0, 1, 0)), ((0, 0, 5), (1, 0, 5), (0, 1, 5))


@pytest.mark.parametrize(
    "faces",
    [
        ("f 1 2 3", "f 4 5 6"),
        ("f -3 -2 -1", "f -3 -2 -1"),  # counted from the line, not from the end of the file
        ("f\t1\t2 3", " f 4 5 6 # the second"),
        ("usemtl a\nf 1/1 2/1 3/1", "usemtl b\nf 4//1 5//1 6//1"),
        ("f 1 \\\r\n 2\\\r\n3", "# C:\\\nf 4 5 6\\"),  # a line goes on after a backslash
    ],
)
def test_obj_faces_may_be_written_in_many_ways(faces, tmp_path):
    lines = []
    for triangle, face in zip(TWO, faces, strict=True):
        lines += [*("v {} {} {}".format(*v) for v in triangle), face]
    (tmp_path / "two.obj").write_bytes("\n".join(lines).encode())
    plain = torch.tensor(TWO, dtype=F64)
    expected = (plain - torch.tensor([0.5, 0.5, 2.5])) / 27**0.5 + 0.5
    assert corners(load_mesh(tmp_path / "two.obj")) == corners(expected)


MIXED = [*QUADS[:3], *triangles()[6:].tolist()]


def test_text_of_ply_may_mix_triangles_and_quadrilaterals(tmp_path):
    mesh = load_mesh(write_ply(tmp_path / "mixed.ply", faces=MIXED))
    assert corners(mesh) == corners(load_mesh(write_ply(tmp_path / "box.ply")))


def test_glb_meshes_without_a_scene_are_taken_as_they_are(tmp_path):
    mesh = load_mesh(write_glb(tmp_path / "box.glb", scenes=None, nodes=None))
    assert mesh.shape == (12, 3, 3)


def ball(rings=12):
    """Triangles of a closed mesh without a hole."""
    a = torch.linspace(0, torch.pi, rings + 1, dtype=F64)
    b = torch.linspace(0, 2 * torch.pi, 2 * rings + 1, dtype=F64)
    p = torch.stack(
        [
            a.sin()[:, None] * b.cos(),
            a.cos()[:, None].expand(-1, len(b)),
            a.sin()[:, None] * b.sin(),
        ],
        dim=-1,
    )
    p = 0.5 + 0.288 * p
    q = torch.stack([p[:-1, :-1], p[1:, :-1], p[1:, 1:], p[:-1, 1:]], dim=2).flatten(0, 1)
    return torch.cat([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_no_ray_slips_between_triangles(dtype, monkeypatch):
    mesh = ball()
    views = render_mesh(mesh, "ball", num_views=4, size=64, dtype=dtype)
    inside = views.mask[0, :, 0].bool()
    for mask in inside:  # every row of the mask of a convex thing is one piece
        for row in mask:
            at = row.nonzero()[:, 0]
            assert not len(at) or len(at) == at[-1] - at[0] + 1
    distance = (views.y[:, :, 1:4] - 0.5).norm(dim=2)[0][inside]
    assert ((distance > 0.27) & (distance < 0.289)).all()
    monkeypatch.setattr("symsets.experiments.views.triangles.PAIRS", 100)  # in many chunks
    again = render_mesh(mesh, "ball", num_views=4, size=64, dtype=dtype)
    assert torch.equal(again.x, views.x)
    assert torch.equal(again.y, views.y)


def test_points_lie_on_the_mesh():
    points = render_mesh(ball(), "a", size=32, num_points=200).points
    assert points.shape == (1, 200, 3)
    assert (points - 0.5).norm(dim=-1).min() > 0.27
    assert (points - 0.5).norm(dim=-1).max() < 0.289


def test_meshes_of_a_folder_come_in_splits(tmp_path):
    for split in ("train", "val", "test"):
        (tmp_path / split).mkdir()
        write_obj(tmp_path / split / "box.obj")
    source = view_source(str(tmp_path), size=16)
    assert isinstance(source, MeshFolder)
    assert source.name == tmp_path.name
    views = source.views("test", 1, num_views=2, num_points=10)
    assert views.x.shape == (1, 2, 3, 16, 16)
    assert not torch.equal(views.mask, source.views("val", 1, num_views=2).mask)


def test_a_mesh_that_no_view_shows_is_named(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.obj").write_text("v 0 0 0\nv 1 1 1\nv 1 1 1.00001\nf 1 2 3")
    with pytest.raises(ValueError, match=r"\.obj must be seen, but no view of 16 px"):
        MeshFolder(tmp_path, size=16).views("train", 1)


def test_errors_name_the_mesh_file_and_what_is_wrong(tmp_path):
    def bad(name, content):
        (tmp_path / name).write_text(content)
        return tmp_path / name

    one = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    cases = [
        (
            write_obj(tmp_path / "cloud.obj", faces=False),
            r"cloud\.obj must have faces, found 8 ver",
        ),
        (bad("empty.obj", ""), r"empty\.obj must have faces, found 0 vertices and no face"),
        (bad("dot.obj", 3 * "v 1 1 1\n" + "f 1 2 3"), r"dot\.obj must have an area, and finite"),
        (
            bad("line.obj", "v 0 0 0\nv 0.1 0.2 0.3\nv 0.7 1.4 2.1\nf 1 2 3"),
            r"line\.obj must have an area, and finite coordinates",
        ),
        (
            bad("needle.obj", one.replace("0 1 0", "0 1e-9 0") + "f 1 2 3"),
            r"le\.obj must have an a",
        ),
        (
            bad("vast.obj", one.replace("1", "1e200") + "f 1 2 3"),
            r"vast\.obj must have an area",
        ),
        (
            bad("nan.obj", one.replace("1 0 0", "nan 0 0") + "f 1 2 3"),
            r"nan\.obj must have an area",
        ),
        (bad("far.obj", one + "f 1 2 9"), r"far\.obj must have faces of its 3 vertices only"),
        (bad("words.obj", "v a b c"), r"words\.obj cannot be read as a mesh: could not convert"),
        (bad("junk.ply", "junk"), r"junk\.ply cannot be read as a mesh: "),
        (bad("junk.glb", "junk"), r"junk\.glb cannot be read as a mesh: it does not begin with"),
        (bad("mesh.3ds", ""), r"mesh\.3ds must end in one of \['\.obj', '\.ply', '\.glb', "),
        (bad("junk.stl", "junk"), r"junk\.stl must have faces, found 0 vertices and no face"),
        (bad("vast.off", "OFF\n4000000000 1 0\n0 0 0\n"), r"vast\.off cannot be read as a mesh: "),
        (tmp_path / "gone.obj", r"gone\.obj must be a mesh file, found no such file"),
        (
            write_glb(tmp_path / "packed.glb", extensionsRequired=["KHR_draco_mesh_compression"]),
            r"packed\.glb cannot be read as a mesh: it needs the extensions \['KHR_draco",
        ),
    ]
    headless = tmp_path / "headless.glb"
    headless.write_bytes(write_glb(tmp_path / "a.glb").read_bytes().replace(b"JSON", b"NOPE", 1))
    position = {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 10**12}
    index = {"bufferView": 1, "componentType": 5123, "type": "SCALAR", "count": 36}
    sparse = [position | {"count": 8, "sparse": {}}, index]
    elsewhere = [{"uri": "secret.bin", "byteLength": 168}]
    cases += [
        (headless, r"headless\.glb cannot be read as a mesh: no initial JSON header"),
        (write_glb(tmp_path / "c.glb", accessors=[position, index]), r"c\.glb cannot be read as "),
        (write_glb(tmp_path / "d.glb", accessors=sparse), r"d\.glb cannot .*: it has sparse acc"),
        (write_glb(tmp_path / "e.glb", buffers=elsewhere), r"e\.glb .*: it refers to other files"),
        (write_glb(tmp_path / "f.glb", nodes=[["mesh"]]), r"f\.glb cannot be read as a mesh: "),
        (write_glb(tmp_path / "g.glb", nodes=[{"children": [1]}, {"children": [0]}]), r"g\.glb "),
    ]
    short = write_ply(tmp_path / "short.ply", "binary_little_endian")
    short.write_bytes(short.read_bytes()[:-5])
    text = write_ply(tmp_path / "text.ply")
    text.write_bytes(text.read_bytes()[:-15])
    lacking = write_ply(tmp_path / "lacking.ply")
    lacking.write_bytes(lacking.read_bytes().rsplit(b"\n", 2)[0] + b"\n")  # all but one face
    broken = write_ply(tmp_path / "broken.ply")
    broken.write_bytes(broken.read_bytes()[:-3])  # inside the last face
    cases += [
        (short, r"short\.ply cannot be read as a mesh: "),
        (text, r"text\.ply cannot be read as a mesh: it ends too early"),
        (lacking, r"lacking\.ply cannot be read as a mesh: it ends too early"),
        (broken, r"broken\.ply cannot be read as a mesh: it ends too early"),
        (write_ply(tmp_path / "m.ply", "binary_little_endian", MIXED), r"m\.ply cannot be read as"),
    ]
    for path, message in cases:
        with pytest.raises(ValueError, match=message):
            load_mesh(path)
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match=r"must hold files that end in one of \.glb \.obj \.off"):
        MeshFolder(tmp_path / "none")
