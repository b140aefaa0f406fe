"""`uidd sgld-diagnose`: which batch size a sampler needs."""

from typing import Annotated

import typer


def sgld_diagnose(
    file: Annotated[
        str,
        typer.Argument(
            help="Chains (chains, draws, D): .npz with arrays named b1, b64, full or one array; .npy; .nc.",
            metavar="FILE",
        ),
    ],
    step: Annotated[float, typer.Option(help="The time of one iteration, the learning rate.")],
    noise: Annotated[float, typer.Option(help="Variance of the injected noise per unit time.")] = 2.0,
    full_batch: Annotated[
        str | None, typer.Option(help="Chains with all data in every batch.", metavar="FILE")
    ] = None,
    thin: Annotated[int, typer.Option(help="Iterations from a draw to the next.")] = 1,
    burn_in: Annotated[float, typer.Option(help="Share of the draws to leave out at the start.")] = 0.2,
    parts: Annotated[int, typer.Option(help="Independent parts of the chains, at least.")] = 12,
    out: Annotated[
        str | None, typer.Option(help="The folder to write to; beside FILE by default.", metavar="FOLDER")
    ] = None,
) -> None:
    """Entropy production of a sampler's chains, and the batch size that is enough.

    Example: uidd sgld-diagnose chains.npz --step 0.01
    """
    from pathlib import Path

    from .._checks import InputError
    from .._files import write_atomically, write_json
    from ..diagnosis import diagnose_sampler, load_chains
    from ..plotting import diagnosis_figure
    from ..plotting.style import png

    folder = Path(file).parent if out is None else Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"'{folder}' is a file, not a folder. Choose another --out.")
    chains = load_chains(file)
    full = None
    if full_batch is not None:
        found = load_chains(full_batch)
        if len(found) > 1:
            raise InputError(f"'{full_batch}' must hold one set of chains; got {len(found)}.")
        (full,) = found.values()
    found = diagnose_sampler(
        chains if len(chains) > 1 or "given" not in chains else chains["given"],
        step=step,
        noise=noise,
        full_batch=full,
        thin=thin,
        burn_in=burn_in,
        parts=parts,
        report=print,
    )
    print(found)
    print(f"Written: {write_json(folder / 'diagnosis.json', found.to_dict())}")
    print(f"Written: {write_atomically(folder / 'diagnosis.png', png(diagnosis_figure(found)))}")
